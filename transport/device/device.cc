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
#include "transport/queue_pair/qp_error.h"
#include "transport/queue_pair/qp_state.h"
#include "transport/requester/requester.h"
#include "transport/requester/retry.h"
#include "transport/requester/uc_ud_requester.h"
#include "transport/responder/responder.h"

namespace urxe {
namespace {

/// Packets that a queue pair may send before the next one has its turn: enough for two segmented
/// datagrams.
constexpr uint32_t kTurnPackets = 32;

/// One turn of a queue pair. Requests go first: an ACK that follows them can share their datagram,
/// and the peer then sees the request no later than the ACK. An ACK that cannot share it goes
/// first: programs expect the completion of a SEND before the peer's reply, since adapters
/// acknowledge a message before the peer's program learns of it. If the requests alone filled the
/// batch, the answers go first in the next turn; otherwise small batches would never let them out.
Turn take_turn(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now, bool all_acks) {
  if (qp.notification_due && !send_notification(ca, qp, batch)) return Turn::kBatchFull;
  if (is_unreliable(qp.service)) {
    const Turn turn = transmit_uc_ud_requests(ca, qp, batch, now, kTurnPackets);
    fail_if_cq_failed(ca, qp);
    return turn;
  }
  const size_t packets_before = batch.packets();
  const bool ack_goes_first =
      owes_ack(qp) && leaves_ack_behind(qp, batch.limits().segments_per_message);
  if (qp.answers_go_first || ack_goes_first) {
    const Turn answers =
        transmit_responses(ca, qp, batch, kTurnPackets, all_acks || ack_goes_first);
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
  enter_error(ca, qp, OwedAnswers::kSend);
}

Device::Device(const DeviceConfig& config) : impl_(std::make_unique<Impl>(config)) {}
Device::Device(Device& first) : impl_(std::make_unique<Impl>(*first.impl_)) {}
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
void Device::forget_gsi_source_port(const Gid& local) {
  impl_->ca.gsi.forget_source_port(local);
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

void Device::set_host_is_crowded(bool crowded) {
  impl_->ca.host_is_crowded = crowded;
}
bool Device::host_is_crowded() const {
  return impl_->ca.host_is_crowded;
}

void Device::set_gids(std::span<const Gid> gids) {
  impl_->ca.config.gids.assign(gids.begin(), gids.end());
}

void Device::set_active_mtu(ibv_mtu mtu) {
  impl_->ca.config.active_mtu = mtu;
}

void Device::advance(Instant now) {
  ChannelAdapter& ca = impl_->ca;
  ca.now = now;
  while (QueuePair* qp = ca.timers.pop_due(now)) {
    if (is_unreliable(qp->service)) {
      ca.active.push_back(*qp);  // waits for room at the receiver
      continue;
    }
    look_at_credits_again(ca, *qp);
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
  const bool had_room = impl_->take_turns(batch, all_acks);
  ca.memory.release_window();
  if (!had_room) {
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
  cq->notified.store(false);
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
