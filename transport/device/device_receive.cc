// SPDX-License-Identifier: BSD-2-Clause
// A packet's way from the device to the part of the queue pair that it is for.
#include "transport/device/device_impl.h"
#include "transport/path/congestion_notification.h"
#include "transport/queue_pair/path_migration.h"
#include "transport/queue_pair/qp_state.h"
#include "transport/requester/completer.h"
#include "transport/requester/repair.h"
#include "transport/responder/refusal.h"
#include "transport/responder/responder.h"
#include "transport/responder/uc_responder.h"
#include "transport/responder/ud_responder.h"

namespace urxe {
namespace {

bool takes_responses_in(ibv_qp_state state) {
  return state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

/// A reserved opcode tells no more than its service. The responder handles it.
bool is_for_responder(Opcode opcode) {
  const OpcodeInfo& info = opcode_info(opcode);
  return info.is_request || info.name.empty();
}

/// An XRC initiator takes responses only, a target requests only (annex A14). Raw packets are none
/// of RoCE's.
bool takes(ibv_qp_type type, Opcode opcode) {
  const bool is_request = is_for_responder(opcode);
  if (type == IBV_QPT_RAW_PACKET) return false;
  return is_request ? type != IBV_QPT_XRC_SEND : type != IBV_QPT_XRC_RECV;
}

std::optional<DropReason> reason_to_drop(const ChannelAdapter& ca, QueuePair* qp,
                                         const PacketView& packet, const Flow& flow, Instant now) {
  const Bth& bth = packet.headers.bth;
  if (qp == nullptr) return DropReason::kUnknownQp;
  if (bth.opcode.service() != qp->service || !takes(qp->type, bth.opcode)) {
    return DropReason::kWrongService;
  }
  if (!receives_in(qp->state())) return DropReason::kQpState;
  if (!pkeys_match(bth.pkey, qp->pkey)) return DropReason::kBadPKey;
  const bool connected = qp->service != Service::kUd;
  if (connected && !comes_from_peer(*qp, bth, flow)) return DropReason::kWrongPeer;
  if (!is_for_responder(bth.opcode) && !takes_responses_in(qp->state())) {
    return DropReason::kQpState;
  }
  if (connected && !comes_from_peer_port(ca, *qp, bth, flow, now)) return DropReason::kWrongPeer;
  return std::nullopt;
}

/// A packet with an opcode that the specification reserves. UC and UD drop it; a responder of RC or
/// XRC refuses it.
void receive_reserved_opcode(ChannelAdapter& ca, QueuePair* qp, const PacketView& packet,
                             const Flow& flow, Instant now) {
  ca.counters.drop(DropReason::kUnknownOpcode);
  if (reason_to_drop(ca, qp, packet, flow, now)) return;
  const bool has_responder = qp->service == Service::kRc || qp->service == Service::kXrc;
  if (has_responder) refuse_reserved_opcode(ca, *qp, packet.headers);
}

/// A requester wants to hear of each gap, or a responder tells of one.
void receive_gap_packet(ChannelAdapter& ca, QueuePair* qp, const PacketView& packet,
                        const RxPacket& received, Instant now) {
  if (qp == nullptr) return ca.counters.drop(DropReason::kUnknownQp);
  if (qp->service != Service::kRc && qp->service != Service::kXrc) {
    return ca.counters.drop(DropReason::kWrongService);
  }
  if (!receives_in(qp->state())) return ca.counters.drop(DropReason::kQpState);
  if (!unnumbered_comes_from_peer(ca, *qp, received.flow)) {
    return ca.counters.drop(DropReason::kWrongPeer);
  }
  qp->counters.count_received(received.bytes.size());
  if (packet.headers.bth.opcode == kGapQueryOpcode) {
    receive_gap_query(ca, *qp, packet.headers.bth.psn);
  } else if (takes_responses_in(qp->state()) && qp->path != nullptr) {
    receive_gap_report(ca, *qp, packet, now);
  }
}

/// Hands the packet to the part of the queue pair that it is for.
void dispatch(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, const Flow& flow,
              Instant now) {
  if (qp.service == Service::kUd) return receive_ud_request(ca, qp, packet, flow);
  if (qp.service == Service::kUc) return receive_uc_request(ca, qp, packet);
  if (opcode_info(packet.headers.bth.opcode).is_request) {
    return receive_request(ca, qp, packet, flow.source_port);
  }
  if (ca.through_memory && qp.path != nullptr) {
    qp.path->on_answer_through_memory(ca.config.max_window, now);
  }
  receive_response(ca, qp, packet, now);
}

/// Gives each queue pair of the group a copy (IBTA vol. 1, 10.5.2.1). Each takes it or drops it.
void receive_multicast(ChannelAdapter& ca, const PacketView& packet, const RxPacket& received,
                       Instant now) {
  const Flow& flow = received.flow;
  ++ca.counters.multicast_packets_received;
  const bool to_group = packet.headers.bth.dest_qp == Qpn(kMulticastQpn);
  const auto members = ca.multicast.members(flow.destination);
  if (!to_group || members.empty()) return ca.counters.drop(DropReason::kUnknownQp);
  for (QueuePair* qp : members) {
    if (is_own_unwanted(ca, *qp, packet, flow)) continue;
    if (const auto reason = reason_to_drop(ca, qp, packet, flow, now)) {
      ca.counters.drop(*reason);
      continue;
    }
    qp->counters.count_received(received.bytes.size());
    receive_ud_request(ca, *qp, packet, flow);
    fail_if_cq_failed(ca, *qp);
  }
}

}  // namespace

void Device::receive(const RxPacket& packet, Instant now) {
  impl_->receive(packet, now);
  impl_->ca.memory.release_window();
}

void Device::Impl::receive(const RxPacket& packet, Instant now) {
  ca.now = now;
  ca.through_memory = packet.through_memory;
  PacketView view;
  if (const auto reason = parse(packet, view)) {
    if (*reason != DropReason::kUnknownOpcode) return ca.counters.drop(*reason);
    QueuePair* const qp = find(view.headers.bth.dest_qp);
    return receive_reserved_opcode(ca, qp, view, packet.flow, now);
  }
  ++ca.counters.received_packets;
  ca.counters.received_bytes += packet.bytes.size();
  if (is_marked(packet.flow)) ++ca.counters.ecn_marked_packets;
  const Bth& bth = view.headers.bth;
  if (packet.flow.destination.is_multicast()) return receive_multicast(ca, view, packet, now);
  QueuePair* qp = find(bth.dest_qp);
  if (bth.opcode == kCnpOpcode) return receive_notification(ca, qp, packet.flow, now);
  if (bth.opcode == kGapQueryOpcode || bth.opcode == kGapReportOpcode) {
    return receive_gap_packet(ca, qp, view, packet, now);
  }
  if (bth.opcode == kDrainQueryOpcode || bth.opcode == kDrainAnswerOpcode) {
    return ca.backpressure.receive(ca, view.headers, packet.flow);
  }
  if (qp == nullptr && bth.dest_qp == kGsiQpn) return ca.gsi.receive(ca, view, packet.flow, now);
  if (const auto reason = reason_to_drop(ca, qp, view, packet.flow, now)) {
    if (*reason == DropReason::kWrongPeer) refuse_migration(ca, *qp, bth);
    return ca.counters.drop(*reason);
  }
  if (is_marked(packet.flow)) owe_notification(ca, *qp, now);
  qp->counters.count_received(packet.bytes.size());
  follow_peer(ca, *qp, bth);
  dispatch(ca, *qp, view, packet.flow, now);
  fail_if_cq_failed(ca, *qp);
}

}  // namespace urxe
