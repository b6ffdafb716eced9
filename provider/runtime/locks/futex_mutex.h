// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstdint>

namespace urxe {

/// A mutex between the threads of a process, of one atomic operation to lock it and one to unlock
/// it, if nobody waits: the device is locked and unlocked for each post and each poll. Both are
/// sequentially consistent. Keeps errno.
class FutexMutex {
 public:
  bool try_lock() {
    uint32_t expected = kFree;
    return state_.compare_exchange_strong(expected, kLocked);
  }
  void lock() {
    if (try_lock()) return;
    const int saved_errno = errno;
    while (state_.exchange(kContended) != kFree) call(FUTEX_WAIT_PRIVATE, kContended);
    errno = saved_errno;
  }
  void unlock() {
    if (state_.exchange(kFree) != kContended) return;
    const int saved_errno = errno;
    call(FUTEX_WAKE_PRIVATE, 1);
    errno = saved_errno;
  }

 private:
  enum State : uint32_t { kFree, kLocked, kContended };

  void call(int operation, uint32_t value) {
    syscall(SYS_futex, &state_, operation, value, nullptr, nullptr, 0);
  }

  std::atomic<uint32_t> state_{kFree};
  static_assert(sizeof state_ == sizeof(uint32_t));
};

}  // namespace urxe
