// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/messages/alternate_path.h"

#include <cerrno>

#include "transport/cm/messages/delay.h"

namespace urxe {
namespace {

/// nullptr: no such established communication, or not in the state for `input`.
Communication* find_established(CmCore& core, CommId id, AlternateInput input,
                                AlternateStep* step) {
  Communication* c = core.table.find(id);
  if (c == nullptr || c->forgotten || c->state != CmState::kEstablished) return nullptr;
  *step = alternate_step(c->alternate, input);
  return step->verdict == CmVerdict::kIllegal ? nullptr : c;
}

void send_apr(CmCore& core, Communication& c, const CmApr& answer) {
  CmApr apr = answer;
  apr.local_comm_id = c.id;
  apr.remote_comm_id = c.remote_id;
  core.send_response(c, apr, c.alternate_transaction_id);
}

MadFate answer_unknown(CmCore& core, const CmLap& lap, const MadContext& context) {
  CmApr apr;
  apr.local_comm_id = lap.remote_comm_id;
  apr.remote_comm_id = lap.local_comm_id;
  apr.status = CmAprStatus::kInvalidCommId;
  return core.send_unowned(context, apr);
}

MadFate take_lap(CmCore& core, Communication& c, const CmLap& lap, AlternateState next,
                 const MadContext& context) {
  c.alternate_transaction_id = context.transaction_id;
  if (lap.remote_qpn != c.local_qpn) {
    CmApr apr;
    apr.status = CmAprStatus::kInvalidQpn;
    send_apr(core, c, apr);
    return kMadReceived;
  }
  core.tell(c, CmEvent::Kind::kAlternatePath, lap, context.flow);
  c.alternate = next;
  return kMadReceived;
}

}  // namespace

Expected<void, Errno> ConnectionManager::load_alternate_path(CommId id, const CmLap& lap,
                                                             Instant now) {
  CmCore& core = begin_call();
  AlternateStep step;
  Communication* c = find_established(core, id, AlternateInput::kLoad, &step);
  if (c == nullptr || c->passive) return error(EINVAL);
  CmLap sent = lap;
  sent.local_comm_id = c->id;
  sent.remote_comm_id = c->remote_id;
  sent.remote_qpn = c->remote_qpn;
  c->alternate = step.next;
  const Duration timeout = cm_time(lap.remote_cm_response_timeout) + c->packet_lifetime * 2;
  core.send_request(*c, sent, core.ids.next_transaction(), timeout, now);
  return {};
}

Expected<void, Errno> ConnectionManager::answer_alternate_path(CommId id, const CmApr& apr,
                                                               Instant /*now*/) {
  CmCore& core = begin_call();
  AlternateStep step;
  Communication* c = find_established(core, id, AlternateInput::kAnswer, &step);
  if (c == nullptr) return error(EINVAL);
  c->alternate = step.next;
  send_apr(core, *c, apr);
  return {};
}

MadFate receive_lap(CmCore& core, const CmLap& lap, const MadContext& context) {
  const Addressee to = find_addressee(core, lap.remote_comm_id, lap.local_comm_id, context.flow);
  if (to.reason == MadDropReason::kUnknownId) return answer_unknown(core, lap, context);
  if (to.communication == nullptr) return mad_dropped(to.reason);
  Communication& c = *to.communication;
  const bool answered = c.response.attribute == CmAttribute::kApr &&
                        c.alternate == AlternateState::kNone &&
                        c.alternate_transaction_id == context.transaction_id;
  const AlternateStep step =
      alternate_step(c.alternate, answered ? AlternateInput::kLapAgain : AlternateInput::kLap);
  if (c.state != CmState::kEstablished || !c.passive || step.verdict == CmVerdict::kIllegal) {
    return mad_dropped(MadDropReason::kWrongState);
  }
  if (step.verdict == CmVerdict::kNew) return take_lap(core, c, lap, step.next, context);
  c.alternate = step.next;
  if (!CmCore::may_repeat(c, context.now)) return kMadDuplicate;
  if (step.reply == CmReply::kMra) {
    send_mra(core, c, CmAnswered::kOther, core.config.slow_consumer_timeout, {},
             c.alternate_transaction_id);
  } else {
    core.repeat_response(c);
  }
  return kMadDuplicate;
}

MadFate receive_apr(CmCore& core, const CmApr& apr, const MadContext& context) {
  const Addressee to = find_addressee(core, apr.remote_comm_id, apr.local_comm_id, context.flow);
  if (to.communication == nullptr) return mad_dropped(to.reason);
  Communication& c = *to.communication;
  const AlternateStep step = alternate_step(c.alternate, AlternateInput::kApr);
  if (c.state != CmState::kEstablished || c.passive || step.verdict == CmVerdict::kIllegal) {
    return mad_dropped(MadDropReason::kWrongState);
  }
  if (step.verdict == CmVerdict::kDuplicate) return kMadDuplicate;
  c.alternate = step.next;
  core.deadlines.remove(c);
  core.tell(c, CmEvent::Kind::kAlternateAnswer, apr, context.flow);
  return kMadReceived;
}

void time_out_alternate_path(CmCore& core, Communication& c) {
  c.alternate = alternate_step(c.alternate, AlternateInput::kTimeout).next;
  core.tell(c, CmEvent::Kind::kAlternateTimeout, CmLap{});
}

}  // namespace urxe
