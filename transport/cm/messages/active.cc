// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/messages/active.h"

#include <cerrno>
#include <new>

#include "transport/cm/messages/delay.h"
#include "transport/cm/messages/disconnect.h"
#include "transport/cm/messages/rejection.h"
#include "transport/cm/timers/probe.h"

namespace urxe {

Expected<CommId, Errno> ConnectionManager::connect(const CmReq& request, const Flow& flow,
                                                   uint8_t packet_lifetime, Instant now) {
  CmCore& core = begin_call();
  Communication* c = core.create();
  if (c == nullptr) return error(ENOMEM);
  c->flow = flow;
  c->transport = request.transport;
  c->service_id = request.service_id;
  c->local_qpn = request.local_qpn;
  c->max_retries = request.max_cm_retries & 0xf;
  c->packet_lifetime = cm_time(packet_lifetime);
  c->response_timeout = cm_time(request.remote_cm_response_timeout) + c->packet_lifetime * 2;
  c->own_response_time = cm_time(request.local_cm_response_timeout);
  // The peer's ACK delay is added when it is known.
  c->time_wait = c->packet_lifetime * 2;
  c->transaction_id = core.ids.next_transaction();
  CmReq req = request;
  req.local_comm_id = c->id;
  req.local_ca_guid = core.config.ca_guid;
  core.enter(*c, cm_step(c->state, CmInput::kConnect).next, now);
  core.send_request(*c, req, c->transaction_id, c->response_timeout, now);
  return c->id;
}

Expected<void, Errno> ConnectionManager::confirm(CommId id, std::span<const uint8_t> private_data,
                                                 Instant now) {
  CmCore& core = begin_call();
  CmStep step;
  Communication* c = find_for_verb(core, id, CmInput::kConfirm, &step);
  if (c == nullptr) return error(EINVAL);
  core.enter(*c, step.next, now);
  CmRtu rtu;
  rtu.local_comm_id = c->id;
  rtu.remote_comm_id = c->remote_id;
  rtu.private_data.assign(private_data);
  core.send_response(*c, rtu, c->transaction_id);
  start_probing(core, *c, now);
  return {};
}

namespace {

Qpn qpn_of(const Communication& c, const CmRep& rep) {
  return c.transport == CmTransport::kExtended ? rep.local_eecn : rep.local_qpn;
}

/// Stores the peer's half of the connection. False: it belongs to another communication.
bool learn_peer(CmCore& core, Communication& c, const CmRep& rep) {
  c.remote_id = rep.local_comm_id;
  c.remote_ca_guid = rep.local_ca_guid;
  c.remote_qpn = qpn_of(c, rep);
  return core.table.link_remote_id(c) && core.table.link_remote_qpn(c);
}

void forget_peer(CmCore& core, Communication& c) {
  core.table.unlink_remote_id(c);
  core.table.unlink_remote_qpn(c);
  c.remote_id = {};
  c.remote_ca_guid = 0;
  c.remote_qpn = {};
}

/// Learns of the peer and tells of its reply. False: it belongs to another communication, and
/// nothing has changed. Nor has anything if memory runs out.
bool tell_of_reply(CmCore& core, Communication& c, const CmRep& rep, const Flow& flow) {
  try {
    if (learn_peer(core, c, rep)) {
      core.tell(c, CmEvent::Kind::kReply, rep, flow);
      return true;
    }
  } catch (const std::bad_alloc&) {
    forget_peer(core, c);
    throw;
  }
  forget_peer(core, c);
  return false;
}

MadFate take_rep(CmCore& core, Communication& c, const CmRep& rep, CmState next,
                 const MadContext& context) {
  if (!tell_of_reply(core, c, rep, context.flow)) {
    Communication* stale =
        core.table.find_remote_qpn(context.flow.source, rep.local_ca_guid, qpn_of(c, rep));
    if (stale == nullptr) return mad_dropped(MadDropReason::kWrongState);
    answer_rej(core, context, CmAnswered::kRep, CmRejectReason::kStaleConnection,
               rep.remote_comm_id, rep.local_comm_id);
    suspect_stale(core, *stale, context);
    return kMadReceived;
  }
  c.peer_port = context.flow.source_port;
  c.time_wait = c.packet_lifetime * 2 + cm_time_of_peer(rep.target_ack_delay);
  c.answer_due = context.now + c.own_response_time;
  core.enter(c, next, context.now);
  return kMadReceived;
}

MadFate repeat_answer(CmCore& core, Communication& c, const CmStep& step, Instant now) {
  switch (step.reply) {
    case CmReply::kMra:
      if (now < c.answer_due || !CmCore::may_repeat(c, now)) break;
      send_mra(core, c, CmAnswered::kRep, core.config.slow_consumer_timeout, {}, c.transaction_id);
      core.enter(c, step.next, now);
      break;
    case CmReply::kRepeat:
      if (CmCore::may_repeat(c, now)) core.repeat_response(c);
      break;
    case CmReply::kRejectAgain:
      if (c.response.attribute == CmAttribute::kRej && CmCore::may_repeat(c, now)) {
        core.repeat_response(c);
      }
      break;
    default:
      break;
  }
  return kMadDuplicate;
}

}  // namespace

MadFate receive_rep(CmCore& core, const CmRep& rep, const MadContext& context) {
  const Addressee to = find_answered(core, rep.remote_comm_id, context);
  Communication* c = to.communication;
  const bool is_anothers =
      c != nullptr && c->remote_id != CommId{} && c->remote_id != rep.local_comm_id;
  if (c == nullptr || is_anothers) {
    if (to.reason == MadDropReason::kWrongPeer) return mad_dropped(to.reason);
    // The peer waits for the answer of a communication that is gone.
    answer_rej(core, context, CmAnswered::kRep, CmRejectReason::kInvalidCommId, rep.remote_comm_id,
               rep.local_comm_id);
    return kMadReceived;
  }
  const CmStep step = cm_step(c->state, CmInput::kRep);
  if (step.verdict == CmVerdict::kNew) return take_rep(core, *c, rep, step.next, context);
  if (step.verdict == CmVerdict::kIllegal || c->passive) {
    return mad_dropped(MadDropReason::kWrongState);
  }
  return repeat_answer(core, *c, step, context.now);
}

}  // namespace urxe
