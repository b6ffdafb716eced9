// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <atomic>

#include "provider/runtime/locks/futex_mutex.h"
#include "provider/runtime/locks/patience.h"

namespace urxe {

/// The lock of a device. Threads that want to drive the device only try to lock it; threads that
/// must have it wait. While one waits no try succeeds, so a thread that polls without pause cannot
/// starve it.
class DeviceLock {
 public:
  bool try_lock() {
    if (waiters_.load() != 0 || !mutex_.try_lock()) return false;
    note_holder();
    return true;
  }
  void lock() {
    waiters_.fetch_add(1);
    mutex_.lock();
    waiters_.fetch_sub(1);
    note_holder();
  }
  /// As lock(), but gives up when `patience` ends. False: not locked.
  bool lock_within(Patience& patience) {
    return lock_unless(patience, [] { return false; });
  }
  /// As lock_within(), but also gives up when `is_enough()` returns true.
  template <class IsEnough>
  bool lock_unless(Patience& patience, IsEnough is_enough) {
    waiters_.fetch_add(1);
    const bool locked = urxe::lock_unless(mutex_, patience, is_enough);
    waiters_.fetch_sub(1);
    if (locked) note_holder();
    return locked;
  }
  /// Sequentially consistent: the caller then looks whether a doorbell was rung meanwhile.
  void unlock() {
    holder_.store(pthread_t{}, std::memory_order_relaxed);
    mutex_.unlock();
  }
  /// Whether the calling thread holds it.
  [[nodiscard]] bool is_mine() const {
    return holder_.load(std::memory_order_relaxed) == pthread_self();
  }

 private:
  void note_holder() { holder_.store(pthread_self(), std::memory_order_relaxed); }

  FutexMutex mutex_;
  std::atomic<int> waiters_{0};
  std::atomic<pthread_t> holder_{};
};

}  // namespace urxe
