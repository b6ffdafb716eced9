// SPDX-License-Identifier: BSD-2-Clause
// The answers that a responder owes: ACKs, NAKs, and the end of the connection after a bad request.
#include <algorithm>

#include "transport/queue_pair/qp_error.h"
#include "transport/responder/note_refusal.h"
#include "transport/responder/responder.h"

namespace urxe {
namespace {

/// A requester asks for an ACK within a message if it may have to wait for it. At the end of a
/// message it asks always, and may be waiting once a quarter of its window has come, as far as its
/// window is like this device's; no more than so many packets in any case. They are counted up to
/// the first one of the last message: so the ACK of a single message can wait for the application's
/// reply, however long the message is.
constexpr uint32_t kMostUnackedAtEnd = 32;
constexpr uint32_t kLeastUnackedAtEnd = 4;

bool may_hold_up(const ChannelAdapter& ca, const QueuePair& qp) {
  if (qp.responder.message != ResponderState::Message::kNone) return true;
  const uint32_t window = ca.through_memory ? ca.config.max_window : ca.config.socket_window;
  const uint32_t quarter = window / 4 / qp.mtu;
  return qp.responder.unacked_at_start >=
         std::clamp(quarter, kLeastUnackedAtEnd, kMostUnackedAtEnd);
}

}  // namespace

void owe_ack(ChannelAdapter& ca, QueuePair& qp, bool urgent) {
  ResponderState& resp = qp.responder;
  if (resp.ack && resp.ack->is_nak) return;
  resp.ack = PendingAck{resp.acknowledgeable, kAckNoCredits, false};
  resp.ack_urgent = resp.ack_urgent || urgent;
  resp.ack_holds_up = may_hold_up(ca, qp);
  if (resp.ack_urgent || resp.ack_holds_up) {
    ca.active.push_back(qp);
  } else {
    ++ca.counters.acks_deferred;
    ca.deferred.push_back(qp);
  }
}

void announce_receives(ChannelAdapter& ca, QueuePair& qp) {
  if (!qp.wants_receives.load(std::memory_order_seq_cst) || qp.rq.empty()) return;
  qp.wants_receives.store(false, std::memory_order_seq_cst);
  owe_ack(ca, qp, true);
}

void owe_nak(ChannelAdapter& ca, QueuePair& qp, Psn psn, uint8_t syndrome) {
  ResponderState& resp = qp.responder;
  resp.ack = PendingAck{psn, syndrome, true};
  resp.nak_outstanding = true;
  ca.active.push_back(qp);
}

void owe_rnr_nak(ChannelAdapter& ca, QueuePair& qp) {
  ++ca.counters.rnr_naks_sent;
  ++qp.counters.rnr_naks_sent;
  qp.responder.rnr_nak_outstanding = true;
  const uint8_t syndrome = rnr_syndrome(qp.attr.min_rnr_timer);
  note_no_receive(ca, qp, syndrome);
  owe_nak(ca, qp, qp.responder.expected_psn, syndrome);
}

void refuse(ChannelAdapter& ca, QueuePair& qp, Psn psn, NakCode code, RequestFault fault) {
  ++ca.counters.other_naks_sent;
  ++ca.counters.naks_sent[static_cast<size_t>(code)];
  owe_nak(ca, qp, psn, nak_syndrome(code));
  // A READ before the request that failed can no longer be answered: the NAK is the READ's then,
  // but the application knows.
  if (qp.state() == IBV_QPS_ERR) return;
  if (fault == RequestFault::kOperation) ca.raise(IBV_EVENT_QP_REQ_ERR, &qp);
  if (fault == RequestFault::kAccess) ca.raise(IBV_EVENT_QP_ACCESS_ERR, &qp);
  enter_error(ca, qp, OwedAnswers::kSend);
}

}  // namespace urxe
