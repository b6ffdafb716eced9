// SPDX-License-Identifier: BSD-2-Clause
// Flow steering rules (ibv_create_flow(3)).
#include <cerrno>
#include <memory>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/verbs/verbs.h"
#include "transport/raw_packet/flow_rule.h"

namespace urxe {
namespace {

/// Adds the rule, and has the interface's frames come for it. With the device's lock held.
Expected<FlowId, Errno> add_rule(Qp& qp, const FlowRule& rule) {
  Device& device = qp.lane->device();
  auto id = device.add_flow(*qp.queue_pair, rule);
  if (!id) return id;
  if (auto followed = qp.progress->follow_flow_rules(); !followed) {
    device.remove_flow(*id);
    (void)qp.progress->follow_flow_rules();
    return Unexpected<Errno>(followed.error());
  }
  return id;
}

}  // namespace

ibv_flow* create_flow(ibv_qp* handle, ibv_flow_attr* attr) noexcept {
  Qp& qp = qp_of(handle);
  Context& owner = *qp.owner;
  if (owner.is_forked()) return fail(ENODEV);
  try {
    const auto rule = parse_flow_rule(*attr);
    if (!rule) return fail(rule.error().value);
    auto flow = std::make_unique<SteeringFlow>();
    RuntimeDevice::Guard guard(qp.owner->device());
    auto id = add_rule(qp, *rule);
    if (!id) return fail(id.error().value);
    flow->owner = &owner;
    flow->qp = &qp;
    flow->id = *id;
    flow->context = handle->context;
    flow->handle = admit(*flow);
    ++qp.flows;
    owner.flows.push_back(*flow);
    return flow.release();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void end_flow(SteeringFlow& flow) {
  flow.owner->flows.remove(flow);
  --flow.qp->flows;
  flow.owner->device().device().remove_flow(flow.id);
  try {
    (void)flow.owner->progress().follow_flow_rules();
  } catch (const std::bad_alloc&) {
    // The rule is gone. Frames that come without a rule until another one changes are dropped.
  }
}

int destroy_flow(ibv_flow* handle) noexcept {
  SteeringFlow& flow = flow_of(handle);
  if (!flow.owner->is_forked()) {
    RuntimeDevice::Guard guard(flow.owner->device());
    end_flow(flow);
  }
  flow.owner->retired.add(flow);
  return 0;
}

}  // namespace urxe
