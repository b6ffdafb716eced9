// SPDX-License-Identifier: BSD-2-Clause
// What modify() and the Error state do to a responder.
#include "transport/responder/responder.h"

namespace urxe {

void reset_responder(QueuePair& qp) {
  qp.responder = ResponderState{};
  qp.wants_receives.store(false, std::memory_order_seq_cst);
  qp.responder.pd = qp.pd;
  qp.responder.srq = qp.srq;
}

void stop_responder(ChannelAdapter& ca, QueuePair& qp, OwedAnswers owed) {
  ResponderState& resp = qp.responder;
  resp.message = ResponderState::Message::kNone;
  resp.held_send.reset();
  resp.gaps_due = 0;
  ca.held.forget_all(qp);
  ca.deferred.remove(qp);
  if (owed == OwedAnswers::kDrop) {
    resp.ack.reset();
    resp.pending_resources = 0;
  } else if (resp.unacked_packets > 0 && resp.acknowledgeable + 1 == resp.expected_psn) {
    owe_ack(ca, qp, true);  // no effect if a NAK is owed
  }
  resp.ack_urgent = resp.ack.has_value();
  if (resp.ack || resp.pending_resources > 0) {
    ca.active.push_back(qp);
  } else {
    ca.active.remove(qp);
  }
}

void set_expected_psn(QueuePair& qp, Psn psn) {
  qp.responder.expected_psn = psn;
  qp.responder.acknowledgeable = psn - 1;
}

}  // namespace urxe
