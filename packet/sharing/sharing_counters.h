// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

/// What this process has done for the others that share its addresses, and they for it.
struct SharingCounters {
  uint64_t forwarded = 0;       ///< packets passed on to the process that they are for
  uint64_t forward_lost = 0;    ///< its queue was full
  uint64_t rx_forwarded = 0;    ///< packets that another process has passed on to us
  uint64_t not_owner = 0;       ///< for a process that is gone
  uint64_t gsi_not_copied = 0;  ///< to QP1 and everybody's, but too many for each to get a copy
  uint64_t rx_syscalls = 0;
};

}  // namespace urxe
