// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/resource.h>

#include <cstdint>

namespace urxe {

/// Whether this process may let a file grow to `bytes`. The kernel sends SIGXFSZ, which ends the
/// process, to one that tries to exceed its limit (setrlimit(2), RLIMIT_FSIZE).
inline bool may_grow_file_to(uint64_t bytes) {
  rlimit limit{};
  return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY ||
         bytes <= limit.rlim_cur;
}

}  // namespace urxe
