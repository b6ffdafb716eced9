// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>
#include <signal.h>

#include <cstddef>

#include "tests/support/failing_allocations.h"

namespace urxe::test {

/// What see_free() has seen.
struct FreesSeen {
  size_t all = 0;
  size_t open_to_signals = 0;  ///< a signal handler could have run meanwhile
};
inline FreesSeen frees_seen;

/// For watch_frees().
inline void see_free() {
  sigset_t blocked;
  ++frees_seen.all;
  pthread_sigmask(SIG_BLOCK, nullptr, &blocked);
  if (sigismember(&blocked, SIGALRM) == 0) ++frees_seen.open_to_signals;
}

}  // namespace urxe::test
