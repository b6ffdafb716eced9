// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>
#include <time.h>

#include <cerrno>

#include "packet/host/uncancelled.h"

namespace urxe {

/// A bounded wait for something that another thread does in microseconds, once it gets a processor.
/// Yields at first, then sleeps, for about two seconds in all. Keeps errno.
class Patience {
 public:
  /// Waits a little. False, at once: the time is over.
  bool wait() {
    if (turn_ == kYields + kSleeps) return false;
    if (turn_++ < kYields) {
      sched_yield();
    } else {
      const int saved_errno = errno;
      const timespec pause{0, kSleepNs};
      const Uncancelled uncancelled;
      nanosleep(&pause, nullptr);
      errno = saved_errno;
    }
    return true;
  }

 private:
  static constexpr int kYields = 1000;
  static constexpr int kSleeps = 20000;
  static constexpr long kSleepNs = 50000;

  int turn_ = 0;
};

/// Waits for `mutex` until `patience` ends or `is_enough()` returns true. False: not locked.
template <class Mutex, class IsEnough>
bool lock_unless(Mutex& mutex, Patience& patience, IsEnough is_enough) {
  bool locked = mutex.try_lock();
  while (!locked && !is_enough() && patience.wait()) locked = mutex.try_lock();
  return locked;
}

/// Locks `mutex` unless it is held until `patience` ends. False: not locked.
template <class Mutex>
bool lock_within(Mutex& mutex, Patience& patience) {
  return lock_unless(mutex, patience, [] { return false; });
}

}  // namespace urxe
