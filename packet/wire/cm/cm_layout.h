// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <concepts>
#include <type_traits>

#include "packet/wire/cm/cm_fields.h"
#include "packet/wire/cm/cm_message.h"

namespace urxe {

// The positions of each message's fields: the tables of IBTA vol. 1, 12.6, 12.8 and 12.11. Each
// serves for reading and writing (see cm_fields.h). Reserved bits are 0 when sent.

template <class M, class Message>
concept CmLayoutOf = std::same_as<std::remove_const_t<M>, Message>;

/// RoCE has no LIDs (annex A16).
inline constexpr uint16_t kCmPermissiveLid = 0xffff;

/// A path in a REQ.
template <class Io, CmLayoutOf<CmPath> Path>
void req_path(Io& io, size_t at, Path& path) {
  io.constant(at, 0, 16, kCmPermissiveLid);
  io.constant(at + 2, 0, 16, kCmPermissiveLid);
  io.gid(at + 4, path.local);
  io.gid(at + 20, path.remote);
  io.field(at + 36, 20, path.flow_label);
  io.bits(at + 39, 2, 6, path.packet_rate);
  io.field(at + 40, 8, path.traffic_class);
  io.field(at + 41, 8, path.hop_limit);
  io.field(at + 42, 4, path.sl);
  io.constant(at + 42, 4, 1, path.hop_limit <= 1 ? 1 : 0);  // "subnet local"
  io.field(at + 43, 5, path.ack_timeout);
}

template <class Io, CmLayoutOf<CmReq> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.local_comm_id);
  io.field(5, 24, m.ece.vendor_id);
  io.field(8, 64, m.service_id);
  io.field(16, 64, m.local_ca_guid);
  io.field(28, 32, m.local_qkey);
  io.field(32, 24, m.local_qpn);
  io.field(35, 8, m.responder_resources);
  io.field(39, 8, m.initiator_depth);
  io.field(43, 5, m.remote_cm_response_timeout);
  io.bits(43, 5, 2, m.transport);
  io.bits(43, 7, 1, m.flow_control);
  io.field(44, 24, m.starting_psn);
  io.field(47, 5, m.local_cm_response_timeout);
  io.bits(47, 5, 3, m.retry_count);
  io.field(48, 16, m.pkey);
  io.field(50, 4, m.path_mtu);
  io.bits(50, 4, 1, m.rdc_exists);
  io.bits(50, 5, 3, m.rnr_retry_count);
  io.field(51, 4, m.max_cm_retries);
  io.bits(51, 4, 1, m.srq);
  io.bits(51, 5, 3, m.extended_transport);
  req_path(io, 52, m.primary);
  if (io.present(100, 32, m.has_alternate)) req_path(io, 96, m.alternate);
  io.data(140, m.private_data);
}

template <class Io, CmLayoutOf<CmMra> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.local_comm_id);
  io.field(4, 32, m.remote_comm_id);
  io.limited(8, 0, 2, m.answered, CmAnswered::kOther);
  io.field(9, 5, m.service_timeout);
  io.data(10, m.private_data);
}

template <class Io, CmLayoutOf<CmRej> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.local_comm_id);
  io.field(4, 32, m.remote_comm_id);
  io.limited(8, 0, 2, m.rejected, CmAnswered::kOther);
  io.field(10, 16, m.reason);
  io.counted(9, 7, 12, m.additional_info);
  io.data(84, m.private_data);
}

template <class Io, CmLayoutOf<CmRep> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.local_comm_id);
  io.field(4, 32, m.remote_comm_id);
  io.field(8, 32, m.local_qkey);
  io.field(12, 24, m.local_qpn);
  io.field(16, 24, m.local_eecn);
  io.scattered({15, 19, 23}, m.ece.vendor_id);
  io.field(20, 24, m.starting_psn);
  io.field(24, 8, m.responder_resources);
  io.field(25, 8, m.initiator_depth);
  io.field(26, 5, m.target_ack_delay);
  io.bits(26, 5, 2, m.failover_accepted);
  io.bits(26, 7, 1, m.flow_control);
  io.field(27, 3, m.rnr_retry_count);
  io.bits(27, 3, 1, m.srq);
  io.field(28, 64, m.local_ca_guid);
  io.data(36, m.private_data);
}

template <class Io, CmLayoutOf<CmRtu> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.local_comm_id);
  io.field(4, 32, m.remote_comm_id);
  io.data(8, m.private_data);
}

template <class Io, CmLayoutOf<CmDreq> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.local_comm_id);
  io.field(4, 32, m.remote_comm_id);
  io.field(8, 24, m.remote_qpn);
  io.data(12, m.private_data);
}

template <class Io, CmLayoutOf<CmDrep> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.local_comm_id);
  io.field(4, 32, m.remote_comm_id);
  io.data(8, m.private_data);
}

/// LAP has the fields of a REQ's path in another order.
template <class Io, CmLayoutOf<CmLap> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.local_comm_id);
  io.field(4, 32, m.remote_comm_id);
  io.field(12, 24, m.remote_qpn);
  io.field(15, 5, m.remote_cm_response_timeout);
  io.constant(20, 0, 16, kCmPermissiveLid);
  io.constant(22, 0, 16, kCmPermissiveLid);
  io.gid(24, m.alternate.local);
  io.gid(40, m.alternate.remote);
  io.field(56, 20, m.alternate.flow_label);
  io.field(59, 8, m.alternate.traffic_class);
  io.field(60, 8, m.alternate.hop_limit);
  io.bits(61, 2, 6, m.alternate.packet_rate);
  io.field(62, 4, m.alternate.sl);
  io.constant(62, 4, 1, m.alternate.hop_limit <= 1 ? 1 : 0);  // "subnet local"
  io.field(63, 5, m.alternate.ack_timeout);
  io.data(64, m.private_data);
}

template <class Io, CmLayoutOf<CmApr> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.local_comm_id);
  io.field(4, 32, m.remote_comm_id);
  io.field(9, 8, m.status);
  io.counted(8, 8, 12, m.additional_info);
  io.data(84, m.private_data);
}

template <class Io, CmLayoutOf<CmSidrReq> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.request_id);
  io.field(4, 16, m.pkey);
  io.field(8, 64, m.service_id);
  io.data(16, m.private_data);
}

template <class Io, CmLayoutOf<CmSidrRep> M>
void layout(Io& io, M& m) {
  io.field(0, 32, m.request_id);
  io.field(4, 8, m.status);
  io.field(8, 24, m.qpn);
  io.scattered({6, 7, 11}, m.ece.vendor_id);
  io.field(12, 64, m.service_id);
  io.field(20, 32, m.qkey);
  io.counted(5, 8, 24, m.additional_info);
  io.data(96, m.private_data);
}

}  // namespace urxe
