// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <mutex>

namespace urxe {

/// The lock of a device. Threads that would drive it only try; those that must have it wait, and
/// while one waits no other's try succeeds: a thread that polls without pause cannot starve it.
class DeviceLock {
 public:
  bool try_lock() { return waiters_.load() == 0 && mutex_.try_lock(); }
  void lock() {
    waiters_.fetch_add(1);
    mutex_.lock();
    waiters_.fetch_sub(1);
  }
  void unlock() { mutex_.unlock(); }

 private:
  std::mutex mutex_;
  std::atomic<int> waiters_{0};
};

}  // namespace urxe
