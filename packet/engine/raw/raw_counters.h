// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

/// Counters of a RawEngine's packet socket. What goes by UDP is in UdpCounters.
struct RawCounters {
  uint64_t rx_frames = 0;   ///< one may hold many packets
  uint64_t rx_packets = 0;  ///< handed out by receive()
  uint64_t tx_frames = 0;   ///< handed to the kernel, segmented ones counted once
  uint64_t tx_packets = 0;
  uint64_t tx_syscalls = 0;
  uint64_t tx_delayed = 0;     ///< packets kept until the socket buffer had room
  uint64_t tx_unresolved = 0;  ///< packets sent by UDP because the neighbour was not known yet

  // lost on the way in
  uint64_t rx_ring_full = 0;  ///< frames
  uint64_t rx_cut = 0;        ///< super-packets for which the socket had no room
  uint64_t rx_refused = 0;    ///< frames that are not what the filter is for

  // packets lost on the way out
  uint64_t tx_buffer_full = 0;   ///< the backlog was full and the socket took nothing, or ENOBUFS
  uint64_t tx_message_size = 0;  ///< EMSGSIZE: the MTU has just become smaller
  uint64_t tx_unreachable = 0;   ///< the interface is down or gone
  uint64_t tx_failed = 0;        ///< any other error
  uint64_t tx_unsegmented = 0;   ///< messages that the kernel refused to segment
};

}  // namespace urxe
