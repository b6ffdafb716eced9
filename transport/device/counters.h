// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <array>
#include <cstddef>
#include <cstdint>

#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

/// Statuses that are counted: those before IBV_WC_LOC_RDD_VIOL_ERR.
inline constexpr size_t kStatuses = IBV_WC_LOC_RDD_VIOL_ERR;
inline constexpr size_t kNakCodes = static_cast<size_t>(NakCode::kInvalidRdRequest) + 1;

/// The counters of one device. None ever decreases.
struct Counters {
  uint64_t sent_packets = 0;
  uint64_t sent_bytes = 0;        ///< BTH to ICRC
  uint64_t received_packets = 0;  ///< accepted by parse()
  uint64_t received_bytes = 0;
  uint64_t multicast_packets_sent = 0;  ///< of all that were sent
  uint64_t multicast_packets_received = 0;
  // of queue pairs for raw packets; not in the counters above
  uint64_t frames_sent = 0;
  uint64_t frames_received = 0;  ///< copies that queue pairs got
  uint64_t frames_dropped = 0;   ///< by a flow steering rule
  uint64_t duplicate_requests = 0;
  uint64_t out_of_sequence_requests = 0;  ///< each begins a gap: NAK PSN sequence error sent
  uint64_t held_requests = 0;             ///< came behind a gap, and were kept
  uint64_t held_responses = 0;            ///< of READs, the same
  uint64_t sequence_naks_received = 0;
  uint64_t implied_naks = 0;
  uint64_t rnr_naks_sent = 0;
  uint64_t rnr_naks_received = 0;
  uint64_t other_naks_sent = 0;
  uint64_t other_naks_received = 0;
  uint64_t ack_timeouts = 0;
  uint64_t loss_probes = 0;
  uint64_t retries_exceeded = 0;
  uint64_t rnr_retries_exceeded = 0;
  uint64_t retransmitted_packets = 0;
  uint64_t repairs = 0;  ///< times that only what was missing was sent again
  uint64_t acks_sent = 0;
  uint64_t sends = 0;     ///< SEND messages completed by the requester
  uint64_t receives = 0;  ///< receive completions
  uint64_t rdma_writes = 0;
  uint64_t rdma_reads = 0;
  uint64_t atomics = 0;
  uint64_t read_requests = 0;  ///< executed by the responder, like the next three
  uint64_t write_requests = 0;
  uint64_t atomic_requests = 0;
  uint64_t flush_requests = 0;
  uint64_t cnps_handled = 0;
  uint64_t cnps_sent = 0;
  uint64_t ecn_marked_packets = 0;  ///< received with the mark "congestion experienced"
  uint64_t acks_deferred = 0;       ///< held back to share a datagram with a request
  uint64_t cq_overflows = 0;
  uint64_t congestion_backoffs = 0;
  uint64_t failures = 0;  ///< queue pairs that went to ERR or SQE by themselves
  std::array<uint64_t, static_cast<size_t>(DropReason::kCount)> drops{};
  /// Work requests of send queues and of receive queues that have failed, by ibv_wc_status.
  std::array<uint64_t, kStatuses> failed_sends{};
  std::array<uint64_t, kStatuses> failed_receives{};
  std::array<uint64_t, kNakCodes> naks_sent{};  ///< by NakCode, without PSN sequence errors

  void count_failed_send(ibv_wc_status status) {
    if (status < kStatuses) ++failed_sends[status];
  }
  void count_failed_receive(ibv_wc_status status) {
    if (status < kStatuses) ++failed_receives[status];
  }
  void drop(DropReason reason) { ++drops[static_cast<size_t>(reason)]; }
};

}  // namespace urxe
