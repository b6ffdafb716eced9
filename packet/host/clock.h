// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <time.h>

#include "packet/base/time.h"

namespace urxe {

inline int64_t read_clock_ns(clockid_t clock) {
  timespec t{};
  clock_gettime(clock, &t);
  return static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec;
}

/// The time by CLOCK_MONOTONIC. The protocol has no clock: the code that drives a device or an
/// engine reads it here and passes it on.
inline Instant clock_now() {
  return Instant{read_clock_ns(CLOCK_MONOTONIC)};
}

/// Nanoseconds since 1970, by CLOCK_REALTIME: for timestamps that people read.
inline int64_t wall_clock_ns() {
  return read_clock_ns(CLOCK_REALTIME);
}

}  // namespace urxe
