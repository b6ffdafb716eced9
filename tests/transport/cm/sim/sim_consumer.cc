// SPDX-License-Identifier: BSD-2-Clause
// What the consumers of a node do, and what they may be told when.
#include "tests/transport/cm/sim/sim_node.h"

namespace urxe::cmsim {

using Kind = CmEvent::Kind;

void Node::take_events(Instant now) {
  while (const auto event = cm_.take_event()) handle(*event, now);
}

void Node::handle(const CmEvent& event, Instant now) {
  ledger_->count(event.kind);
  if (event.kind == Kind::kRequest || event.kind == Kind::kServiceRequest) {
    return handle_request(event, now);
  }
  const auto found = conversations_.find(event.id);
  expect(found != conversations_.end(), "an event for an id that nobody has");
  if (found == conversations_.end()) return;
  Conversation& c = found->second;
  const std::string what = "event " + std::to_string(static_cast<int>(event.kind)) +
                           " while the consumer is " + phase_name(c.phase);
  expect(event.flow.source == node_gid(c.peer_node), "an event from another peer");
  switch (event.kind) {
    case Kind::kReply:
      expect(c.phase == Phase::kConnecting, what);
      return handle_reply(event, c, now);
    case Kind::kEstablished:
      expect(c.phase == Phase::kAccepted, what);
      expect_agreed(ledger_->has_agreed(peer_of(c), c.remote_qpn, end_of(event.id)),
                    "established with an end that has not confirmed");
      return established(event.id, now);
    case Kind::kMra:
      expect(c.phase == Phase::kConnecting || c.phase == Phase::kAccepted || c.alternate_pending,
             what);
      return;
    case Kind::kRejected:
      expect(c.phase <= Phase::kEstablished, what);
      if (c.phase == Phase::kConnecting) ++c.outcomes;
      return ended(event.id, now);
    case Kind::kRequestTimeout:
      expect(c.phase == Phase::kConnecting, what);
      ++c.outcomes;
      return ended(event.id, now);
    case Kind::kReplyTimeout:
      expect(c.phase == Phase::kAccepted, what);
      return ended(event.id, now);
    case Kind::kDisconnectRequest:
      expect(c.phase == Phase::kAccepted || c.phase == Phase::kEstablished, what);
      c.phase = Phase::kDisconnectRequested;
      return soon([this, id = event.id](Instant t) { close(id, t); }, now);
    case Kind::kDisconnectTimeout:
    case Kind::kDisconnected:
      // Without having been asked where the connection was found to be stale.
      expect(c.phase == Phase::kDisconnecting || c.phase == Phase::kEstablished, what);
      return ended(event.id, now);
    case Kind::kPeerSilent:
      expect(ledger_->is_dead(c.peer_node), "a peer that is there was taken for dead");
      [[fallthrough]];
    case Kind::kPeerGone:
      expect(c.phase == Phase::kEstablished, what);
      return ended(event.id, now);
    case Kind::kTimeWaitExit:
      expect(c.phase == Phase::kEnded, what);
      c.phase = Phase::kIdle;
      return;
    case Kind::kAlternatePath:
    case Kind::kAlternateAnswer:
    case Kind::kAlternateTimeout:
      expect(c.phase == Phase::kEstablished, what);
      return handle_alternate(event, c, now);
    case Kind::kServiceReply:
    case Kind::kServiceTimeout:
      expect(c.phase == Phase::kResolving, what);
      return handle_service(event, c, now);
    default:
      expect(false, what);
  }
}

void Node::handle_request(const CmEvent& event, Instant now) {
  Conversation c;
  for (uint32_t node = 0; node < options_->nodes; ++node) {
    if (node_gid(node) == event.flow.source) c.peer_node = node;
  }
  expect(event.flow.destination == node_gid(index_), "a request for another node");
  expect(event.listener != ListenerId{}, "a request without a listener");
  const bool is_service = event.kind == Kind::kServiceRequest;
  c.phase = is_service ? Phase::kServing : Phase::kRequested;
  if (!is_service) {
    const CmReq& req = std::get<CmReq>(event.body);
    c.remote_id = req.local_comm_id;
    c.remote_qpn = req.local_qpn;
    expect_agreed(ledger_->has_asked(peer_of(c), c.remote_qpn), "a request that nobody has made");
  }
  expect(conversations_.emplace(event.id, c).second, "an id was given out twice");
  soon([this, id = event.id](Instant t) { answer_request(id, t); }, now);
}

void Node::answer_request(CommId id, Instant now) {
  if (in(id, Phase::kServing)) {
    if (!random_.percent(options_->impatience)) {
      CmSidrRep rep;
      rep.qpn = new_qpn();
      expect(cm_.answer_service(id, rep, now).has_value(), "cannot answer a service request");
    }
    return destroy(id, now);
  }
  Conversation* c = in(id, Phase::kRequested);
  if (c == nullptr) return;
  if (random_.percent(options_->impatience)) {
    if (random_.percent(50)) return destroy(id, now);
    expect(cm_.reject(id, CmRejectReason::kConsumer, {}, {}, now).has_value(), "cannot reject");
    return ended(id, now);
  }
  if (random_.percent(options_->slow_consumer)) {
    expect(cm_.delay(id, 19, {}, now).has_value(), "cannot ask for time");
    return soon([this, id](Instant t) { answer_request(id, t); }, now);
  }
  c->local_qpn = new_qpn();
  CmRep rep;
  rep.local_qpn = c->local_qpn;
  expect(cm_.accept(id, rep, now).has_value(), "cannot accept");
  c->phase = Phase::kAccepted;
  ledger_->accepted(end_of(id), c->local_qpn, peer_of(*c));
  if (!random_.percent(options_->impatience / 4)) return;
  soon(
      [this, id](Instant t) {
        if (in(id, Phase::kAccepted) == nullptr) return;
        expect(cm_.reject(id, CmRejectReason::kConsumer, {}, {}, t).has_value(), "cannot reject");
        ended(id, t);
      },
      now);
}

void Node::handle_reply(const CmEvent& event, Conversation& c, Instant now) {
  const CmRep& rep = std::get<CmRep>(event.body);
  ++c.outcomes;
  c.phase = Phase::kReplied;
  c.remote_id = rep.local_comm_id;
  c.remote_qpn = rep.local_qpn;
  expect_agreed(ledger_->has_agreed(peer_of(c), c.remote_qpn, end_of(event.id)),
                "a reply that nobody has given");
  soon([this, id = event.id](Instant t) { answer_reply(id, t); }, now);
}

void Node::answer_reply(CommId id, Instant now) {
  Conversation* c = in(id, Phase::kReplied);
  if (c == nullptr) return;
  if (random_.percent(options_->impatience)) {
    if (random_.percent(50)) return destroy(id, now);
    expect(cm_.reject(id, CmRejectReason::kConsumer, {}, {}, now).has_value(), "cannot reject");
    return ended(id, now);
  }
  expect(cm_.confirm(id, {}, now).has_value(), "cannot confirm");
  ledger_->confirmed(end_of(id), peer_of(*c));
  // A queue pair that several communications name says nothing about any of them.
  if (!options_->reuses_qpns && random_.percent(50))
    data_.emplace_back(c->peer_node, c->remote_qpn);
  established(id, now);
  if (random_.percent(20)) soon([this, id](Instant t) { load_alternate_path(id, t); }, now);
}

void Node::established(CommId id, Instant now) {
  conversations_[id].phase = Phase::kEstablished;
  after(
      {}, seconds(100), [this, id](Instant t) { close(id, t); }, now);
}

void Node::close(CommId id, Instant now) {
  const auto found = conversations_.find(id);
  if (found == conversations_.end()) return;
  Conversation& c = found->second;
  if (c.phase != Phase::kEstablished && c.phase != Phase::kDisconnectRequested) return;
  if (random_.percent(options_->impatience)) return destroy(id, now);
  const bool done = cm_.disconnect(id, {}, now).has_value();
  if (c.phase == Phase::kDisconnectRequested) {
    expect(done, "cannot answer a disconnect request");
    return ended(id, now);
  }
  expect(done || cm_.state(id) == CmState::kDreqSent, "cannot disconnect");
  c.phase = Phase::kDisconnecting;
}

void Node::ended(CommId id, Instant now) {
  conversations_[id].phase = Phase::kEnded;
  expect(cm_.state(id) == CmState::kIdle || cm_.state(id) == CmState::kTimeWait,
         "has ended, and is neither idle nor in time-wait");
  soon([this, id](Instant t) { destroy(id, t); }, now);
}

void Node::destroy(CommId id, Instant now) {
  const auto found = conversations_.find(id);
  if (found == conversations_.end()) return;
  const Conversation& c = found->second;
  if (c.active && c.phase != Phase::kConnecting && c.phase != Phase::kResolving) {
    expect(c.outcomes == 1, "an end that has not asked for exactly one outcome");
  }
  cm_.destroy(id, now);
  expect(!cm_.state(id), "is there after it was destroyed");
  conversations_.erase(found);
}

void Node::load_alternate_path(CommId id, Instant now) {
  Conversation* c = in(id, Phase::kEstablished);
  if (c == nullptr || cm_.state(id) != CmState::kEstablished || c->alternate_pending) return;
  CmLap lap;
  lap.remote_cm_response_timeout = 18;
  expect(cm_.load_alternate_path(id, lap, now).has_value(), "cannot load an alternate path");
  c->alternate_pending = true;
}

void Node::handle_alternate(const CmEvent& event, Conversation& c, Instant now) {
  if (event.kind != Kind::kAlternatePath) {
    expect(c.alternate_pending, "an answer that nobody waits for");
    c.alternate_pending = false;
    return;
  }
  soon(
      [this, id = event.id](Instant t) {
        if (in(id, Phase::kEstablished) == nullptr) return;
        const bool done = cm_.answer_alternate_path(id, {}, t).has_value();
        expect(done || cm_.state(id) != CmState::kEstablished, "cannot answer an alternate path");
      },
      now);
}

void Node::handle_service(const CmEvent& event, Conversation& c, Instant now) {
  ++c.outcomes;
  ended(event.id, now);
}

}  // namespace urxe::cmsim
