// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

namespace urxe {

/// The counters of one queue pair, since it was made. None ever decreases. Bytes are those of
/// packets from BTH to ICRC.
struct QpCounters {
  uint64_t sent_packets = 0;
  uint64_t sent_bytes = 0;
  uint64_t received_packets = 0;
  uint64_t received_bytes = 0;
  uint64_t sends_completed = 0;     ///< work requests of the send queue
  uint64_t receives_completed = 0;  ///< work requests of the receive queue
  uint64_t requests_executed = 0;   ///< WRITEs, READs, atomics and FLUSHes of the peer
  uint64_t retransmitted_packets = 0;
  uint64_t ack_timeouts = 0;
  uint64_t sequence_naks_received = 0;
  uint64_t rnr_naks_received = 0;
  uint64_t rnr_naks_sent = 0;

  void count_sent(size_t bytes) {
    ++sent_packets;
    sent_bytes += bytes;
  }
  void count_received(size_t bytes) {
    ++received_packets;
    received_bytes += bytes;
  }
};

}  // namespace urxe
