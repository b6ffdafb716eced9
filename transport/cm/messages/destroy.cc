// SPDX-License-Identifier: BSD-2-Clause
// The end of a communication that its consumer forgets: destroy().
#include "transport/cm/cm_core.h"
#include "transport/cm/messages/disconnect.h"
#include "transport/cm/messages/rejection.h"
#include "transport/cm/messages/service_resolution.h"

namespace urxe {
namespace {

/// The target end of an XRC connection outlives its communication: others may share the queue pair.
bool outlives_its_communication(const Communication& c) {
  return c.transport == CmTransport::kExtended && c.passive;
}

void give_up(CmCore& core, Communication& c, Instant now) {
  const CmStep step = cm_step(c.state, CmInput::kReject);
  if (c.state == CmState::kReqSent || c.state == CmState::kMraReqReceived) {
    send_rej_timeout(core, c);
  } else {
    send_rej(core, c, CmRejectReason::kConsumer, {}, {});
  }
  core.enter(c, step.next, now);
}

void destroy_communication(CmCore& core, Communication& c, Instant now) {
  core.forget(c);
  switch (c.state) {
    case CmState::kIdle:
    case CmState::kSidrReqSent:
      core.enter(c, CmState::kIdle, now);
      break;
    case CmState::kEstablished:
      if (outlives_its_communication(c)) {
        core.enter(c, CmState::kIdle, now);
      } else {
        send_dreq(core, c, {}, now);
      }
      break;
    case CmState::kDreqReceived:
      send_drep(core, c, {});
      core.enter(c, CmState::kTimeWait, now);
      break;
    case CmState::kSidrReqReceived:
      refuse_service(core, c, CmSidrStatus::kReject);
      core.enter(c, CmState::kIdle, now);
      break;
    case CmState::kDreqSent:
    case CmState::kTimeWait:
      break;
    default:
      give_up(core, c, now);
  }
}

}  // namespace

void ConnectionManager::destroy(CommId id, Instant now) {
  CmCore& core = begin_call();
  Communication* c = core.table.find(id);
  if (c != nullptr && !c->forgotten) destroy_communication(core, *c, now);
}

}  // namespace urxe
