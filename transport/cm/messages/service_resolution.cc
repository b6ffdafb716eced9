// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/messages/service_resolution.h"

#include <algorithm>
#include <cerrno>
#include <memory>
#include <new>

namespace urxe {

Expected<CommId, Errno> ConnectionManager::resolve_service(const CmSidrReq& request,
                                                           const Flow& flow, Duration timeout,
                                                           uint8_t retries, Instant now) {
  CmCore& core = begin_call();
  Communication* c = core.create();
  if (c == nullptr) return error(ENOMEM);
  c->flow = flow;
  c->service_id = request.service_id;
  c->max_retries = retries;
  CmSidrReq sent = request;
  sent.request_id = c->id;
  core.enter(*c, cm_step(c->state, CmInput::kResolveService).next, now);
  c->transaction_id = core.ids.next_transaction();
  core.send_request(*c, sent, c->transaction_id, timeout, now);
  return c->id;
}

MadFate receive_sidr_rep(CmCore& core, const CmSidrRep& reply, const MadContext& context) {
  const Addressee to = find_answered(core, reply.request_id, context);
  if (to.communication == nullptr) return mad_dropped(to.reason);
  Communication& c = *to.communication;
  const CmStep step = cm_step(c.state, CmInput::kSidrRep);
  if (step.verdict == CmVerdict::kIllegal) return mad_dropped(MadDropReason::kWrongState);
  core.tell(c, CmEvent::Kind::kServiceReply, reply, context.flow);
  core.enter(c, step.next, context.now);
  return kMadReceived;
}

MadFate receive_sidr_req(CmCore& core, const CmSidrReq& request, const MadContext& context) {
  if (core.table.find_service_request(context.flow.source, request.request_id) != nullptr) {
    return kMadDuplicate;
  }
  const auto listener = core.listeners.find(request.service_id, context.flow.destination);
  if (!listener) {
    CmSidrRep reply;
    reply.request_id = request.request_id;
    reply.status = CmSidrStatus::kUnsupported;
    reply.service_id = request.service_id;
    return core.send_unowned(context, reply);
  }
  // No status says "no room": the peer will ask again.
  RequestSource* const source =
      core.requests.admit(context.flow.source, request.request_id, Qpn{}, context.now);
  if (source == nullptr) return mad_dropped(MadDropReason::kOverQuota);
  Communication* c = core.create();
  if (c == nullptr) {
    core.requests.give_up(*source);
    return mad_dropped(MadDropReason::kNoRoom);
  }
  c->passive = true;
  c->flow = reversed(context.flow);
  c->service_id = request.service_id;
  c->transaction_id = context.transaction_id;
  c->remote_id = request.request_id;
  c->listener = *listener;
  try {
    c->held_back = std::make_unique<CmEvent>();
    core.table.link_service_request(*c);
  } catch (const std::bad_alloc&) {
    core.release(*c);
    core.requests.give_up(*source);
    return mad_dropped(MadDropReason::kNoRoom);
  }
  core.enter(*c, cm_step(c->state, CmInput::kSidrReq).next, context.now);
  core.take_request(*source, *c, request, context.flow);
  return kMadReceived;
}

void refuse_service(CmCore& core, Communication& c, CmSidrStatus status) {
  CmSidrRep reply;
  reply.request_id = c.remote_id;
  reply.service_id = c.service_id;
  reply.status = status;
  core.send_response(c, reply, c.transaction_id);
}

Expected<void, Errno> ConnectionManager::answer_service(CommId id, const CmSidrRep& reply,
                                                        Instant now) {
  CmCore& core = begin_call();
  CmStep step;
  Communication* c = find_for_verb(core, id, CmInput::kAnswerService, &step);
  if (c == nullptr) return error(EINVAL);
  CmSidrRep sent = reply;
  sent.request_id = c->remote_id;
  sent.service_id = c->service_id;
  core.send_response(*c, sent, c->transaction_id);
  core.enter(*c, step.next, now);
  return {};
}

}  // namespace urxe
