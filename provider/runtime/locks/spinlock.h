// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>

#include <atomic>

namespace urxe {

/// A lock that is held for a few instructions. A waiter yields the processor after a short while,
/// because the holder may not be running: machines often have more threads than processors.
class Spinlock {
 public:
  void lock() {
    if (!enabled_) return;
    while (held_.exchange(true, std::memory_order_acquire)) wait();
  }
  bool try_lock() { return !enabled_ || !held_.exchange(true, std::memory_order_acquire); }
  void unlock() {
    if (enabled_) held_.store(false, std::memory_order_release);
  }
  /// Turns locking off: the application has promised that one thread at a time uses the object.
  /// Only before the first use.
  void disable() { enabled_ = false; }

 private:
  void wait() const {
    for (int i = 0; held_.load(std::memory_order_relaxed); ++i) {
      if (i < kSpins) {
        pause();
      } else {
        sched_yield();
      }
    }
  }
  static void pause() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#elif defined(__aarch64__)
    asm volatile("yield");
#endif
  }
  static constexpr int kSpins = 100;

  std::atomic<bool> held_{false};
  bool enabled_ = true;
};

}  // namespace urxe
