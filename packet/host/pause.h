// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <time.h>

#include <cerrno>

namespace urxe {

/// Sleeps for the whole time, whatever signals come. For waits that are counted in pauses: a
/// program with a timer would end them early.
inline void pause_for(timespec time) {
  while (nanosleep(&time, &time) != 0 && errno == EINTR) continue;
}

}  // namespace urxe
