// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "packet/wire/cm/cm_message.h"
#include "packet/wire/roce_packet.h"

/// The counters that a device shows below diag_counters, ports/1/counters, ports/1/hw_counters and,
/// for the connection manager, ports/1/cm_*, and their columns in the device's counter table: the
/// file <tree>/devices/<device>.counters, kCounterRows rows of kCounterColumns native 64-bit
/// counters. Each process adds to the row of its slot; a reader gets the sum of a column.
namespace urxe {

inline constexpr size_t kCounterRows = 512;
inline constexpr size_t kCounterColumns = 192;
inline constexpr size_t kCounterTableBytes = kCounterRows * kCounterColumns * sizeof(uint64_t);

/// IBTA PortCounters. port_xmit_data and port_rcv_data count 4-byte words.
inline constexpr auto kPortCounterNames = std::to_array<std::string_view>({
    "port_xmit_data",
    "port_rcv_data",
    "port_xmit_packets",
    "port_rcv_packets",
    "unicast_xmit_packets",
    "unicast_rcv_packets",
    "multicast_xmit_packets",
    "multicast_rcv_packets",
    "port_xmit_discards",
    "port_xmit_wait",
    "port_xmit_constraint_errors",
    "port_rcv_errors",
    "port_rcv_constraint_errors",
    "port_rcv_remote_physical_errors",
    "port_rcv_switch_relay_errors",
    "symbol_error",
    "link_downed",
    "link_error_recovery",
    "local_link_integrity_errors",
    "excessive_buffer_overrun_errors",
    "VL15_dropped",
});

/// The transport's counters, by the names that rxe and mlx5 use; one "drop_<reason>" for each
/// DropReason and one "drop_mad_<reason>" for each MadDropReason, in the order of the enums.
inline constexpr auto kHardwareCounterNames = std::to_array<std::string_view>({
    "sent_pkts",
    "rcvd_pkts",
    "duplicate_request",
    "out_of_seq_request",
    "rcvd_rnr_err",
    "send_rnr_err",
    "rcvd_seq_err",
    "ack_deferred",
    "retry_exceeded_err",
    "retry_rnr_exceeded_err",
    "completer_retry_err",
    "send_err",
    "rdma_sends",
    "rdma_recvs",
    "packet_seq_err",
    "implied_nak_seq_err",
    "local_ack_timeout_err",
    "rnr_nak_retry_err",
    "out_of_sequence",
    "held_requests",   // came behind a gap, and were kept
    "held_responses",  // of READs, the same
    "selective_repairs",
    "rx_read_requests",
    "rx_write_requests",
    "rx_atomic_requests",
    "rx_flush_requests",
    "np_ecn_marked_roce_packets",
    "np_cnp_sent",
    "rp_cnp_handled",
    "forwarded_pkts",
    "uncopied_mads",  // for all processes behind QP1, which are too many to get copies
    // through memory between processes of one host; in sent_pkts and rcvd_pkts, too
    "shm_sent_pkts",
    "shm_rcvd_pkts",
    "shm_sent_bytes",
    "shm_rcvd_bytes",
    // by the raw engine's packet socket; in sent_pkts and rcvd_pkts, too
    "raw_sent_pkts",
    "raw_rcvd_pkts",
    // frames of queue pairs for raw packets; in no counter above
    "raw_qp_sent_frames",
    "raw_qp_rcvd_frames",
    "raw_qp_dropped_frames",  // by a flow steering rule
    // by `urxe run --fault`
    "fault_tx_lost",
    "fault_tx_duplicated",
    "fault_tx_reordered",
    "fault_tx_corrupted",
    "fault_rx_lost",
    "fault_rx_duplicated",
    "fault_rx_reordered",
    "fault_rx_corrupted",
    "drop_truncated",
    "drop_transport_version",
    "drop_unknown_opcode",
    "drop_bad_padding",
    "drop_unexpected_payload",
    "drop_payload_size",
    "drop_bad_icrc",
    "drop_unknown_qp",
    "drop_bad_pkey",
    "drop_bad_qkey",
    "drop_wrong_service",
    "drop_wrong_peer",
    "drop_qp_state",
    "drop_no_such_gid",
    "drop_unexpected_psn",
    "drop_out_of_sequence",
    "drop_malformed_response",
    "drop_malformed_request",
    "drop_no_receive",
    "drop_not_owner",
    "drop_mad_length",
    "drop_mad_version",
    "drop_mad_class",
    "drop_mad_method",
    "drop_mad_unknown_attribute",
    "drop_mad_malformed",
    "drop_mad_unknown_id",
    "drop_mad_wrong_peer",
    "drop_mad_wrong_state",
    "drop_mad_no_room",
    "drop_mad_over_quota",
});

/// The messages of the connection manager, by index_of(attribute): the files of each directory of
/// kCmCounterGroups, as Linux has them.
inline constexpr auto kCmMessageNames = std::to_array<std::string_view>({
    "req",
    "mra",
    "rej",
    "rep",
    "rtu",
    "dreq",
    "drep",
    "sidr_req",
    "sidr_rep",
    "lap",
    "apr",
});
static_assert(kCmMessageNames.size() == kCmAttributes);

inline constexpr auto kCmCounterGroups = std::to_array<std::string_view>({
    "cm_tx_msgs",
    "cm_tx_retries",
    "cm_rx_msgs",
    "cm_rx_duplicates",
});

/// Work requests that failed, as mlx4 has them in diag_counters: of send queues (sq_) and of
/// receive queues (rq_); rq_num_rire, rq_num_rae and rq_num_roe count the peers' requests that were
/// refused.
inline constexpr auto kDiagCounterNames = std::to_array<std::string_view>({
    "sq_num_lle",    // local length error
    "sq_num_lqpoe",  // local QP operation error
    "sq_num_lpe",    // local protection error
    "sq_num_wrfe",   // flushed
    "sq_num_mwbe",   // memory window bind error
    "sq_num_bre",    // bad response
    "sq_num_rire",   // remote invalid request
    "sq_num_rae",    // remote access error
    "sq_num_roe",    // remote operational error
    "sq_num_tree",   // transport retries exceeded
    "sq_num_rree",   // RNR retries exceeded
    "rq_num_lle",
    "rq_num_lpe",
    "rq_num_wrfe",
    "rq_num_lae",  // local access error
    "rq_num_rire",
    "rq_num_rae",
    "rq_num_roe",
});

/// The column of the first message's counter in a group.
constexpr size_t cm_counter_column(size_t group) {
  return kPortCounterNames.size() + kHardwareCounterNames.size() + group * kCmMessageNames.size();
}

/// The column of the first of kDiagCounterNames.
constexpr size_t kDiagColumns = cm_counter_column(kCmCounterGroups.size());
static_assert(kDiagColumns + kDiagCounterNames.size() <= kCounterColumns);

/// The column of a counter. A name that is in no list does not compile.
consteval size_t counter_column(std::string_view name) {
  for (size_t i = 0; i < kPortCounterNames.size(); ++i) {
    if (kPortCounterNames[i] == name) return i;
  }
  for (size_t i = 0; i < kHardwareCounterNames.size(); ++i) {
    if (kHardwareCounterNames[i] == name) return kPortCounterNames.size() + i;
  }
  for (size_t i = 0; i < kDiagCounterNames.size(); ++i) {
    if (kDiagCounterNames[i] == name) return kDiagColumns + i;
  }
  throw "no such counter";
}

/// The column of "drop_<reason>".
constexpr size_t drop_counter_column(DropReason reason) {
  return counter_column("drop_truncated") + static_cast<size_t>(reason);
}
static_assert(drop_counter_column(DropReason::kNotOwner) == counter_column("drop_not_owner"));
static_assert(drop_counter_column(DropReason::kUnknownQp) == counter_column("drop_unknown_qp"));
static_assert(static_cast<size_t>(DropReason::kCount) ==
              static_cast<size_t>(DropReason::kNotOwner) + 1);

/// The column of "drop_mad_<reason>".
constexpr size_t drop_counter_column(MadDropReason reason) {
  return counter_column("drop_mad_length") + static_cast<size_t>(reason);
}
static_assert(drop_counter_column(MadDropReason::kOverQuota) ==
              counter_column("drop_mad_over_quota"));
static_assert(drop_counter_column(MadDropReason::kUnknownId) ==
              counter_column("drop_mad_unknown_id"));
static_assert(static_cast<size_t>(MadDropReason::kCount) ==
              static_cast<size_t>(MadDropReason::kOverQuota) + 1);

}  // namespace urxe
