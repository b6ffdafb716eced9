// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <time.h>

#include "packet/base/time.h"

namespace urxe {

/// The time by CLOCK_MONOTONIC. Only what drives a device asks.
inline Instant clock_now() {
  timespec t{};
  clock_gettime(CLOCK_MONOTONIC, &t);
  return Instant{static_cast<int64_t>(t.tv_sec) * 1000000000 + t.tv_nsec};
}

}  // namespace urxe
