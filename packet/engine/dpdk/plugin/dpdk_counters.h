// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

/// Counters of a DpdkEngine, in packets.
struct DpdkCounters {
  uint64_t rx_packets = 0;  ///< handed out by receive()
  uint64_t tx_packets = 0;  ///< handed to the driver

  // lost on the way in
  uint64_t rx_refused = 0;    ///< RoCE that is damaged, or for nobody here
  uint64_t rx_no_room = 0;    ///< of this process to itself
  uint64_t rx_scattered = 0;  ///< frames in pieces that are larger than any RoCE packet

  // lost on the way out
  uint64_t tx_no_buffer = 0;   ///< the pool was empty: of frames for the link
  uint64_t tx_queue_full = 0;  ///< the driver took none for long, and the queue before it was full
  uint64_t tx_link_down = 0;   ///< waited when the link went down
  uint64_t tx_message_size = 0;  ///< larger than the port's MTU
  uint64_t tx_unreachable = 0;   ///< on no network of the port's, and there is no gateway
  uint64_t tx_unresolved = 0;    ///< the neighbour's link address did not become known in time
};

}  // namespace urxe
