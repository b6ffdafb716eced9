// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>

namespace urxe {

/// A lock that is held for some instructions, or while one packet is copied. A waiter spins: it
/// does not give up its processor, so that the transport can use it.
class ShortLock {
 public:
  void lock() {
    while (held_.exchange(true, std::memory_order_acquire)) wait();
  }
  void unlock() { held_.store(false, std::memory_order_release); }

  class Guard {
   public:
    explicit Guard(ShortLock& lock) : lock_(lock) { lock_.lock(); }
    ~Guard() { lock_.unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    ShortLock& lock_;
  };

 private:
  void wait() const {
    while (held_.load(std::memory_order_relaxed)) {
#if defined(__x86_64__)
      __builtin_ia32_pause();
#elif defined(__aarch64__)
      asm volatile("yield");
#endif
    }
  }

  std::atomic<bool> held_{false};
};

}  // namespace urxe
