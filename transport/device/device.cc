// SPDX-License-Identifier: BSD-2-Clause
#include "transport/device/device.h"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <new>

#include "packet/base/check.h"
#include "transport/device/device_impl.h"
#include "transport/observation/note_cause.h"
#include "transport/path/congestion_notification.h"
#include "transport/queue_pair/path_migration.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/queue_pair/qp_state.h"
#include "transport/requester/completer.h"
#include "transport/requester/repair.h"
#include "transport/requester/requester.h"
#include "transport/requester/retry.h"
#include "transport/requester/uc_ud_requester.h"
#include "transport/responder/responder.h"
#include "transport/responder/uc_responder.h"
#include "transport/responder/ud_responder.h"

namespace urxe {
namespace {

/// Packets that a queue pair may send before the next one has its turn: enough for two segmented
/// datagrams.
constexpr uint32_t kTurnPackets = 32;

bool takes_responses_in(ibv_qp_state state) {
  return state == IBV_QPS_RTS || state == IBV_QPS_SQD || state == IBV_QPS_SQE;
}

/// An XRC initiator takes responses only, a target requests only (annex A14). Raw packets are none
/// of RoCE's.
bool takes(ibv_qp_type type, Opcode opcode) {
  const bool is_request = opcode_info(opcode).is_request;
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
  if (!opcode_info(bth.opcode).is_request && !takes_responses_in(qp->state())) {
    return DropReason::kQpState;
  }
  if (connected && !comes_from_peer_port(ca, *qp, bth, flow, now)) return DropReason::kWrongPeer;
  return std::nullopt;
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
  if (opcode_info(packet.headers.bth.opcode).is_request) return receive_request(ca, qp, packet);
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

/// One turn of a queue pair. Requests go first: an ACK that follows them can share their datagram,
/// and the peer then sees the request no later than the ACK. If the requests alone filled the
/// batch, the answers go first in the next turn; otherwise small batches would never let them out.
Turn take_turn(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now, bool all_acks) {
  if (qp.notification_due && !send_notification(ca, qp, batch)) return Turn::kBatchFull;
  if (is_unreliable(qp.service)) {
    const Turn turn = transmit_uc_ud_requests(ca, qp, batch, now, kTurnPackets);
    fail_if_cq_failed(ca, qp);
    return turn;
  }
  const size_t packets_before = batch.packets();
  if (qp.answers_go_first) {
    const Turn answers = transmit_responses(ca, qp, batch, kTurnPackets, all_acks);
    if (answers == Turn::kBatchFull) return answers;
    qp.answers_go_first = false;
  }
  const Turn requests = transmit_requests(ca, qp, batch, now, kTurnPackets);
  if (requests == Turn::kBatchFull) {
    qp.answers_go_first = true;
    return requests;
  }
  // The ACK goes with the last of the requests.
  const bool sent_last = batch.packets() != packets_before && has_sent_all(qp);
  const Turn responses = transmit_responses(ca, qp, batch, kTurnPackets, all_acks || sent_last);
  fail_if_cq_failed(ca, qp);
  return responses == Turn::kIdle ? requests : responses;
}

}  // namespace

void fail_if_cq_failed(ChannelAdapter& ca, QueuePair& qp) {
  if (!qp.cq_failed) return;
  qp.cq_failed = false;
  if (qp.state() == IBV_QPS_ERR || qp.state() == IBV_QPS_RESET) return;
  note_cause(qp, {.reason = ErrorReason::kCompletionLost});
  ca.raise(IBV_EVENT_QP_FATAL, &qp);
  enter_error(ca, qp, OwedAnswers::kDrop);
}

Device::Device(const DeviceConfig& config) : impl_(std::make_unique<Impl>(config)) {}
Device::~Device() = default;

const DeviceConfig& Device::config() const {
  return impl_->ca.config;
}
const Counters& Device::counters() const {
  return impl_->ca.counters;
}
QueuePair* Device::find_qp(Qpn qpn) const {
  return impl_->find(qpn);
}
size_t Device::qp_count() const {
  return impl_->qp_count;
}

ConnectionManager& Device::cm() {
  return impl_->ca.gsi.cm();
}
const ConnectionManager& Device::cm() const {
  return impl_->ca.gsi.cm();
}
MadAgents& Device::mads() {
  return impl_->ca.gsi.mads();
}
const MadAgents& Device::mads() const {
  return impl_->ca.gsi.mads();
}
void Device::set_gsi_source_port(const Gid& local, uint16_t port) {
  impl_->ca.gsi.set_source_port(local, port);
}
std::optional<uint16_t> Device::gsi_source_port(const Gid& local) const {
  return impl_->ca.gsi.source_port(local);
}

bool Device::ring_doorbell(QueuePair& qp) {
  return impl_->doorbells.ring(qp);
}
void Device::take_posted(QueuePair& qp) {
  impl_->take_posted(qp);
}
bool Device::doorbell_pending() const {
  return impl_->doorbells.pending();
}

void Device::receive(const RxPacket& packet, Instant now) {
  ChannelAdapter& ca = impl_->ca;
  ca.now = now;
  PacketView view;
  if (const auto reason = parse(packet, view)) return ca.counters.drop(*reason);
  ++ca.counters.received_packets;
  ca.counters.received_bytes += packet.bytes.size();
  if (is_marked(packet.flow)) ++ca.counters.ecn_marked_packets;
  const Bth& bth = view.headers.bth;
  if (packet.flow.destination.is_multicast()) return receive_multicast(ca, view, packet, now);
  QueuePair* qp = impl_->find(bth.dest_qp);
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

void Device::advance(Instant now) {
  ChannelAdapter& ca = impl_->ca;
  ca.now = now;
  while (QueuePair* qp = ca.timers.pop_due(now)) {
    if (is_unreliable(qp->service)) {
      ca.active.push_back(*qp);  // waits for room at the receiver
      continue;
    }
    stop_waiting_for_credits(ca, *qp);
    on_retry_timer(ca, *qp, now);
    fail_if_cq_failed(ca, *qp);
  }
  ca.gsi.cm().advance(now);
  ca.gsi.mads().advance(now);
  ca.release_held_events();
}

bool Device::Impl::take_turns(TxBatch& batch, bool all_acks) {
  while (QueuePair* qp = ca.active.front()) {
    if (qp->type == IBV_QPT_RAW_PACKET) {  // transmit_frames() serves it
      ca.active.remove(*qp);
      ca.sending_frames.push_back(*qp);
      continue;
    }
    switch (take_turn(ca, *qp, batch, ca.now, all_acks)) {
      case Turn::kIdle:
        ca.active.remove(*qp);
        break;
      case Turn::kMore:
      case Turn::kAfterOther:
        ca.active.move_to_back(*qp);
        break;
      case Turn::kBatchFull:
        ca.active.move_to_back(*qp);
        if (!check(!batch.empty())) ca.active.remove(*qp);
        return false;
    }
  }
  return true;
}

/// QP1 comes after the data, which a flood of requests must not hold up, but not later than in the
/// second batch.
bool Device::transmit(TxBatch& batch, Instant now, AckPolicy policy) {
  ChannelAdapter& ca = impl_->ca;
  ca.now = now;
  impl_->take_doorbells();
  while (QueuePair* qp = ca.pacing.pop_due(now)) ca.active.push_back(*qp);
  const bool all_acks = policy == AckPolicy::kAll;
  if (!impl_->has_to_send(all_acks)) return false;
  if (!ca.backpressure.transmit_answers(ca, batch)) return true;
  if (ca.gsi.is_overdue() && !ca.gsi.transmit(ca, batch)) return true;
  if (all_acks) {
    while (QueuePair* qp = ca.deferred.front()) {
      ca.deferred.remove(*qp);
      ca.active.push_back(*qp);
    }
  }
  if (!impl_->take_turns(batch, all_acks)) {
    ca.gsi.wait_for_next_batch();
    return true;
  }
  if (!ca.gsi.transmit(ca, batch)) return true;
  return ca.gsi.has_outgoing();
}

std::optional<Instant> Device::next_deadline() const {
  const ChannelAdapter& ca = impl_->ca;
  std::optional<Instant> earliest = ca.timers.next();
  for (const std::optional<Instant>& other :
       {ca.pacing.next(), ca.next_held_event, ca.gsi.cm().next_deadline(),
        ca.gsi.mads().next_deadline()}) {
    if (other) earliest = std::min(earliest.value_or(*other), *other);
  }
  return earliest;
}

CompletionQueue* Device::take_notified() {
  auto& notified = impl_->ca.notified;
  if (notified.empty()) return nullptr;
  CompletionQueue* cq = notified.back();
  notified.pop_back();
  cq->notified = false;
  return cq;
}

std::optional<AsyncEvent> Device::take_event() {
  auto& events = impl_->ca.events;
  if (events.empty()) return std::nullopt;
  const AsyncEvent event = events.front();
  events.pop_front();
  return event;
}

}  // namespace urxe
