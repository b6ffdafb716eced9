// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/messages/passive.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

#include "transport/cm/messages/delay.h"
#include "transport/cm/messages/disconnect.h"
#include "transport/cm/messages/rejection.h"
#include "transport/cm/timers/probe.h"
#include "transport/cm/timers/timers.h"

namespace urxe {
namespace {

MadFate refuse_req(CmCore& core, const CmReq& req, const MadContext& context,
                   CmRejectReason reason) {
  return answer_rej(core, context, CmAnswered::kReq, reason, {}, req.local_comm_id);
}

/// The packet lifetime behind a local ACK timeout, which is at least twice as long.
Duration packet_lifetime_of(uint8_t ack_timeout) {
  return cm_time_of_peer(ack_timeout > 0 ? static_cast<uint8_t>(ack_timeout - 1) : 0);
}

void take_peer(Communication& c, const CmReq& req, const MadContext& context) {
  c.passive = true;
  c.flow = reversed(context.flow);
  c.peer_port = context.flow.source_port;
  c.transport = req.transport;
  c.service_id = req.service_id;
  c.transaction_id = context.transaction_id;
  c.remote_id = req.local_comm_id;
  c.remote_ca_guid = req.local_ca_guid;
  c.remote_qpn = req.local_qpn;
  c.max_retries = req.max_cm_retries;
  c.packet_lifetime = packet_lifetime_of(req.primary.ack_timeout);
  c.response_timeout = std::max(
      cm_time_of_peer(req.local_cm_response_timeout) + c.packet_lifetime * 2, kLeastRetryInterval);
  c.time_wait = cm_time_of_peer(req.primary.ack_timeout);
  c.answer_due = context.now + cm_time_of_peer(req.remote_cm_response_timeout);
}

/// Allocates what a request needs before it is counted. False: no memory.
bool introduce(CmCore& core, Communication& c) {
  try {
    c.held_back = std::make_unique<CmEvent>();
    core.table.link_remote_id(c);
    core.table.link_remote_qpn(c);
    return true;
  } catch (const std::bad_alloc&) {
    return false;
  }
}

MadFate take_req(CmCore& core, const CmReq& req, const MadContext& context, ListenerId listener) {
  make_room_for_requests(core, context.flow.source, context.now);
  RequestSource* const source =
      core.requests.admit(context.flow.source, req.local_comm_id, req.local_qpn, context.now);
  if (source == nullptr) return mad_dropped(MadDropReason::kOverQuota);
  Communication* c = core.create();
  if (c == nullptr) {
    core.requests.give_up(*source);
    answer_rej(core, context, CmAnswered::kReq, CmRejectReason::kNoResources, {},
               req.local_comm_id);
    return mad_dropped(MadDropReason::kNoRoom);
  }
  take_peer(*c, req, context);
  c->listener = listener;
  if (!introduce(core, *c)) {
    core.release(*c);
    core.requests.give_up(*source);
    return mad_dropped(MadDropReason::kNoRoom);
  }
  core.enter(*c, cm_step(c->state, CmInput::kReq).next, context.now);
  core.take_request(*source, *c, req, context.flow);
  return kMadReceived;
}

/// The peer repeats a REQ that was rejected.
void reject_again(CmCore& core, Communication& c, const MadContext& context) {
  const auto said = c.response.attribute == CmAttribute::kRej
                        ? parse_cm_message(c.response.mad)
                        : Unexpected<MadDropReason>(MadDropReason::kUnknownId);
  CmRej rej;
  if (said && std::holds_alternative<CmRej>(said->body)) {
    rej = std::get<CmRej>(said->body);
  } else {
    rej.reason = CmRejectReason::kStaleConnection;
  }
  rej.rejected = CmAnswered::kReq;
  rej.local_comm_id = c.id;
  rej.remote_comm_id = c.remote_id;
  core.send_unowned(context, rej);
}

MadFate repeat_answer(CmCore& core, Communication& c, const MadContext& context) {
  if (c.half_open == HalfOpen::kWaiting) {
    make_room_for_requests(core, context.flow.source, context.now);
  }
  const CmStep step = cm_step(c.state, CmInput::kReq);
  if (step.verdict != CmVerdict::kDuplicate || !c.passive) {
    return mad_dropped(MadDropReason::kWrongState);
  }
  switch (step.reply) {
    case CmReply::kMra:
      if (context.now < c.answer_due || !CmCore::may_repeat(c, context.now)) break;
      send_mra(core, c, CmAnswered::kReq, core.config.slow_consumer_timeout, {}, c.transaction_id);
      core.enter(c, step.next, context.now);
      break;
    case CmReply::kRepeat:
      if (!CmCore::may_repeat(c, context.now)) break;
      if (c.state == CmState::kRepSent) {
        core.repeat_request(c);
      } else {
        core.repeat_response(c);
      }
      break;
    case CmReply::kRejectStale:
      if (CmCore::may_repeat(c, context.now)) reject_again(core, c, context);
      break;
    default:
      break;
  }
  return kMadDuplicate;
}

/// A target queue pair of XRC is named in the field of the EE context.
Qpn place_qpn(const Communication& c, CmRep& rep) {
  if (c.transport != CmTransport::kExtended) return rep.local_qpn;
  if (rep.local_eecn == Qpn{}) rep.local_eecn = rep.local_qpn;
  rep.local_qpn = {};
  return rep.local_eecn;
}

/// The RTU has come, or data that has the effect of the RTU. If memory runs out, nothing changes.
void establish(CmCore& core, Communication& c, const CmRtu& rtu, const Flow& flow, Instant now) {
  core.tell(c, CmEvent::Kind::kEstablished, rtu, flow);
  core.enter(c, CmState::kEstablished, now);
  start_probing(core, c, now);
}

}  // namespace

MadFate receive_req(CmCore& core, const CmReq& req, const MadContext& context) {
  const Gid& peer = context.flow.source;
  Communication* same = core.table.find_remote_id(peer, req.local_ca_guid, req.local_comm_id);
  if (same != nullptr) return repeat_answer(core, *same, context);
  Communication* stale = core.table.find_remote_qpn(peer, req.local_ca_guid, req.local_qpn);
  if (stale != nullptr) {
    const MadFate fate = refuse_req(core, req, context, CmRejectReason::kStaleConnection);
    suspect_stale(core, *stale, context);
    return fate;
  }
  const auto listener = core.listeners.find(req.service_id, context.flow.destination);
  if (!listener) return refuse_req(core, req, context, CmRejectReason::kInvalidServiceId);
  return take_req(core, req, context, *listener);
}

Expected<void, Errno> ConnectionManager::accept(CommId id, const CmRep& reply, Instant now) {
  CmCore& core = begin_call();
  CmStep step;
  Communication* c = find_for_verb(core, id, CmInput::kAccept, &step);
  if (c == nullptr) return error(EINVAL);
  CmRep rep = reply;
  c->local_qpn = place_qpn(*c, rep);
  rep.local_comm_id = c->id;
  rep.remote_comm_id = c->remote_id;
  rep.local_ca_guid = core.config.ca_guid;
  core.table.link_waiting_for_rtu(*c);  // may run out of memory: before anything changes
  core.enter(*c, step.next, now);
  core.requests.on_reply(*c, now);
  core.send_request(*c, rep, c->transaction_id, c->response_timeout, now);
  core.tell_of_requests(nullptr);
  return {};
}

MadFate receive_rtu(CmCore& core, const CmRtu& rtu, const MadContext& context) {
  const Addressee to = find_addressee(core, rtu.remote_comm_id, rtu.local_comm_id, context.flow);
  if (to.communication == nullptr) return mad_dropped(to.reason);
  Communication& c = *to.communication;
  const CmStep step = cm_step(c.state, CmInput::kRtu);
  if (step.verdict == CmVerdict::kIllegal || !c.passive) {
    return mad_dropped(MadDropReason::kWrongState);
  }
  if (step.verdict == CmVerdict::kDuplicate) {
    // The peer has a connection that this side has rejected.
    const bool rejected = c.response.attribute == CmAttribute::kRej;
    if (step.reply == CmReply::kRejectAgain && rejected && CmCore::may_repeat(c, context.now)) {
      core.repeat_response(c);
    }
    return kMadDuplicate;
  }
  establish(core, c, rtu, context.flow, context.now);
  return kMadReceived;
}

Expected<void, Errno> ConnectionManager::communication_established(CommId id, Instant now) {
  CmCore& core = begin_call();
  CmStep step;
  Communication* c = find_for_verb(core, id, CmInput::kEstablish, &step);
  if (c == nullptr) return error(EINVAL);
  if (step.verdict == CmVerdict::kNew) establish(core, *c, {}, reversed(c->flow), now);
  return {};
}

void ConnectionManager::first_request_received(Qpn local_qpn, Instant now) {
  CmCore& core = begin_call();
  Communication* c = core.table.find_waiting_for_rtu(local_qpn);
  if (c == nullptr) return;
  try {
    establish(core, *c, {}, reversed(c->flow), now);
  } catch (const std::bad_alloc&) {
    // The RTU will establish it.
  }
}

}  // namespace urxe
