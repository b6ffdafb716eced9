// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/messages/disconnect.h"

#include <cerrno>

#include "transport/cm/timers/probe.h"

namespace urxe {

void send_dreq(CmCore& core, Communication& c, std::span<const uint8_t> private_data, Instant now) {
  CmDreq dreq;
  dreq.local_comm_id = c.id;
  dreq.remote_comm_id = c.remote_id;
  dreq.remote_qpn = c.remote_qpn;
  dreq.private_data.assign(private_data);
  core.enter(c, cm_step(c.state, CmInput::kDisconnect).next, now);
  core.send_request(c, dreq, core.ids.next_transaction(), c.response_timeout, now);
}

void send_drep(CmCore& core, Communication& c, std::span<const uint8_t> private_data) {
  CmDrep drep;
  drep.local_comm_id = c.id;
  drep.remote_comm_id = c.remote_id;
  drep.private_data.assign(private_data);
  core.send_response(c, drep, c.transaction_id);
}

void suspect_stale(CmCore& core, Communication& stale, const MadContext& context) {
  if (stale.state != CmState::kEstablished) return;
  if (ask_soon(core, stale, context.now)) return;
  if (context.flow.source_port == stale.peer_port) send_dreq(core, stale, {}, context.now);
}

Expected<void, Errno> ConnectionManager::disconnect(CommId id,
                                                    std::span<const uint8_t> private_data,
                                                    Instant now) {
  CmCore& core = begin_call();
  CmStep step;
  Communication* c = find_for_verb(core, id, CmInput::kDisconnect, &step);
  if (c == nullptr) return error(EINVAL);
  if (c->state == CmState::kDreqReceived) {
    send_drep(core, *c, private_data);
    core.enter(*c, step.next, now);
  } else {
    send_dreq(core, *c, private_data, now);
  }
  return {};
}

Expected<void, Errno> ConnectionManager::answer_disconnect(CommId id,
                                                           std::span<const uint8_t> private_data,
                                                           Instant now) {
  CmCore& core = begin_call();
  CmStep step;
  Communication* c = find_for_verb(core, id, CmInput::kAnswerDisconnect, &step);
  if (c == nullptr) return error(EINVAL);
  send_drep(core, *c, private_data);
  core.enter(*c, step.next, now);
  return {};
}

namespace {

/// Answers a DREQ for a connection that is unknown here: it is over (12.6.11).
MadFate answer_unknown(CmCore& core, const CmDreq& dreq, const MadContext& context) {
  CmDrep drep;
  drep.local_comm_id = dreq.remote_comm_id;
  drep.remote_comm_id = dreq.local_comm_id;
  core.send_unowned(context, drep);
  return kMadDuplicate;
}

MadFate take_dreq(CmCore& core, Communication& c, const CmDreq& dreq, const CmStep& step,
                  const MadContext& context) {
  c.transaction_id = context.transaction_id;
  if (step.reply == CmReply::kDrep) {
    // Both ends have sent a DREQ, so this one answers ours.
    send_drep(core, c, {});
    core.tell(c, CmEvent::Kind::kDisconnected, CmDrep{}, context.flow);
  } else {
    core.tell(c, CmEvent::Kind::kDisconnectRequest, dreq, context.flow);
  }
  core.enter(c, step.next, context.now);
  return kMadReceived;
}

}  // namespace

MadFate receive_dreq(CmCore& core, const CmDreq& dreq, const MadContext& context) {
  const Addressee to = find_addressee(core, dreq.remote_comm_id, dreq.local_comm_id, context.flow);
  if (to.reason == MadDropReason::kUnknownId) return answer_unknown(core, dreq, context);
  if (to.communication == nullptr) return mad_dropped(to.reason);
  Communication& c = *to.communication;
  if (dreq.remote_qpn == kProbeQpn) return receive_probe(core, c, context);
  const CmStep step = cm_step(c.state, CmInput::kDreq);
  if (step.verdict == CmVerdict::kIllegal || dreq.remote_qpn != c.local_qpn) {
    return mad_dropped(MadDropReason::kWrongState);
  }
  if (step.verdict == CmVerdict::kNew) return take_dreq(core, c, dreq, step, context);
  if (step.reply == CmReply::kDrep && CmCore::may_repeat(c, context.now)) {
    if (c.response.attribute == CmAttribute::kDrep) {
      core.repeat_response(c);
    } else {
      c.transaction_id = context.transaction_id;
      send_drep(core, c, {});
    }
  }
  return kMadDuplicate;
}

MadFate receive_drep(CmCore& core, const CmDrep& drep, const MadContext& context) {
  const Addressee to = find_addressee(core, drep.remote_comm_id, drep.local_comm_id, context.flow);
  if (to.communication == nullptr) return mad_dropped(to.reason);
  Communication& c = *to.communication;
  if (c.state == CmState::kEstablished && answers_probe(c, context)) {
    return find_peer_gone(core, c, drep, context);
  }
  const CmStep step = cm_step(c.state, CmInput::kDrep);
  if (step.verdict == CmVerdict::kIllegal) return mad_dropped(MadDropReason::kWrongState);
  if (step.verdict == CmVerdict::kDuplicate) return kMadDuplicate;
  core.tell(c, CmEvent::Kind::kDisconnected, drep, context.flow);
  core.enter(c, step.next, context.now);
  return kMadReceived;
}

}  // namespace urxe
