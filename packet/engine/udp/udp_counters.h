// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/sharing/sharing_counters.h"

namespace urxe {

/// Counters of a UdpEngine.
struct UdpCounters {
  uint64_t rx_datagrams = 0;  ///< receive buffers; one holds many packets if they came coalesced
  uint64_t rx_packets = 0;    ///< handed out by receive()
  uint64_t rx_syscalls = 0;
  uint64_t tx_datagrams = 0;  ///< handed to the kernel, segmented ones counted once
  uint64_t tx_packets = 0;
  uint64_t tx_syscalls = 0;
  uint64_t tx_delayed = 0;  ///< packets kept until the socket buffer had room

  // packets lost on the way out
  uint64_t tx_no_socket = 0;      ///< the source port has not been claimed
  uint64_t tx_buffer_full = 0;    ///< the backlog was full and the socket took nothing, or ENOBUFS
  uint64_t tx_message_size = 0;   ///< EMSGSIZE: larger than the interface's MTU
  uint64_t tx_unreachable = 0;    ///< no route, host or network down
  uint64_t tx_not_permitted = 0;  ///< a firewall's rule
  uint64_t tx_failed = 0;         ///< any other error
  uint64_t tx_unsegmented = 0;    ///< 1: the kernel's segmentation failed and is no longer used

  // the port shared with other processes
  CalibrationCounters calibration;  ///< of the addresses that are open
  SharingCounters sharing;          ///< AddressSharing's
};

}  // namespace urxe
