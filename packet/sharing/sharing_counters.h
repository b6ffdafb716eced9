// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

/// Packets that this process has forwarded to others that share its addresses, or got from them.
struct SharingCounters {
  uint64_t forwarded = 0;       ///< to the process that they are for
  uint64_t forward_lost = 0;    ///< for a process whose socket was full for too long
  uint64_t rx_forwarded = 0;    ///< that another process forwarded to this one
  uint64_t direct = 0;          ///< of those forwarded to it, the ones that it had already
  uint64_t not_owner = 0;       ///< for a process that has ended
  uint64_t gsi_not_copied = 0;  ///< to QP1, for every process, but too many to copy
  uint64_t gsi_over_quota = 0;  ///< requests without a listener, beyond their sender's quota
  uint64_t rx_syscalls = 0;
};

/// The work of the processes that share an address to have the kernel give each its packets.
struct CalibrationCounters {
  uint64_t searches = 0;   ///< for the order of the sockets on the port, by this process
  uint64_t by_others = 0;  ///< results of another process that this one waited for
  uint64_t programs = 0;   ///< given to the kernel by this process
};

}  // namespace urxe
