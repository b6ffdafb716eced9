// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>
#include <time.h>

#include <cerrno>

namespace urxe {

/// Waiting that ends: for what another thread does in microseconds once it runs, on a machine that
/// may let it run late. Yields at first, then sleeps, for about two seconds in all. Leaves errno
/// alone.
class Patience {
 public:
  /// Waits a little. False, at once: there is none left.
  bool wait() {
    if (turn_ == kYields + kSleeps) return false;
    if (turn_++ < kYields) {
      sched_yield();
    } else {
      const int saved_errno = errno;
      const timespec pause{0, kSleepNs};
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

}  // namespace urxe
