// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/queue_pairs/xrc.h"

#include <pthread.h>

#include <cerrno>
#include <new>
#include <utility>

#include "provider/runtime/errors.h"

namespace urxe {
namespace {

constexpr uint32_t kXrcdHandle = 1;  // of VerbsXrcd::comp_mask

int check_open(const Context& owner, const ibv_qp_open_attr& attr) {
  constexpr uint32_t kNeeded = IBV_QP_OPEN_ATTR_NUM | IBV_QP_OPEN_ATTR_XRCD | IBV_QP_OPEN_ATTR_TYPE;
  if (attr.comp_mask >= IBV_QP_OPEN_ATTR_RESERVED) return EOPNOTSUPP;
  if ((attr.comp_mask & kNeeded) != kNeeded || attr.qp_type != IBV_QPT_XRC_RECV ||
      attr.xrcd == nullptr || !is_handle_of(owner, attr.xrcd)) {
    return EINVAL;
  }
  return 0;
}

/// The errno for a target that is not in the domain.
int why_not_found(Context& owner, uint32_t qpn) {
  if (!owner.device().start() || owner.device().is_own(Qpn(qpn))) return EINVAL;
  print_error(
      "ibv_open_qp: the queue pair is none of this process's, and urxe does not share XRC domains "
      "between processes; connect to a target of this process instead");
  return EOPNOTSUPP;
}

void show(Qp& qp, ibv_context* context, const ibv_qp_open_attr& attr) {
  ibv_qp& handle = qp.qp;
  handle.context = context;
  if ((attr.comp_mask & IBV_QP_OPEN_ATTR_CONTEXT) != 0) handle.qp_context = attr.qp_context;
  handle.qp_num = handle.handle = admit(qp, qp.queue_pair->qpn.value());
  handle.qp_type = IBV_QPT_XRC_RECV;
  handle.state = qp.queue_pair->state();
  pthread_mutex_init(&handle.mutex, nullptr);
  pthread_cond_init(&handle.cond, nullptr);
}

}  // namespace

ibv_xrcd* open_xrcd(ibv_context* context, ibv_xrcd_init_attr* init) noexcept {
  constexpr uint32_t kNeeded = IBV_XRCD_INIT_ATTR_FD | IBV_XRCD_INIT_ATTR_OFLAGS;
  Context& owner = context_of(context);
  if (owner.is_forked()) return fail(ENODEV);
  if (init->comp_mask >= IBV_XRCD_INIT_ATTR_RESERVED) return fail(EOPNOTSUPP);
  if ((init->comp_mask & kNeeded) != kNeeded) return fail(EINVAL);
  try {
    auto xrcd = std::make_unique<Xrcd>();
    RuntimeDevice::Guard guard(owner.device());
    RuntimeDevice& device = owner.device();
    auto domain = device.xrc_domains().open(device.device(), init->fd, init->oflags);
    if (!domain) return fail(domain.error().value);
    xrcd->owner = &owner;
    xrcd->domain = *domain;
    xrcd->xrcd.context = context;
    xrcd->comp_mask = kXrcdHandle;
    xrcd->handle = admit(*xrcd);
    owner.xrcds.push_back(*xrcd);
    return &xrcd.release()->xrcd;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void end_xrcd(Xrcd& xrcd) {
  RuntimeDevice& device = xrcd.owner->device();
  device.xrc_domains().close(device.device(), xrcd.domain);
  xrcd.owner->xrcds.remove(xrcd);
}

int close_xrcd(ibv_xrcd* handle) noexcept {
  Xrcd& xrcd = xrcd_of(handle);
  if (!xrcd.owner->is_forked()) {
    RuntimeDevice::Guard guard(xrcd.owner->device());
    if (xrcd.users != 0) return EBUSY;
    end_xrcd(xrcd);
  }
  xrcd.owner->retired.add(xrcd);
  return 0;
}

ibv_qp* open_qp(ibv_context* context, ibv_qp_open_attr* attr) noexcept {
  Context& owner = context_of(context);
  if (owner.is_forked()) return fail(ENODEV);
  if (int wrong = check_open(owner, *attr); wrong != 0) return fail(wrong);
  try {
    auto qp = std::make_unique<Qp>();
    Xrcd& xrcd = xrcd_of(attr->xrcd);
    RuntimeDevice::Guard guard(owner.device());
    QueuePair* target = owner.device().device().find_qp(Qpn(attr->qp_num));
    if (target == nullptr || target->domain != xrcd.domain) {
      return fail(why_not_found(owner, attr->qp_num));
    }
    qp->owner = &owner;
    qp->lane = &owner.device().first_lane();
    qp->progress = &owner.progress();
    qp->queue_pair = target;
    join_domain(*qp, xrcd);
    Qp& holder = holder_of(*qp);
    qp->next_sharer = std::exchange(holder.next_sharer, qp.get());
    owner.qps.push_back(*qp);
    show(*qp, context, *attr);
    return &qp.release()->qp;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void join_domain(Qp& qp, Xrcd& xrcd) {
  qp.xrcd = &xrcd;
  ++xrcd.users;
}

bool leave_sharers(Qp& qp) {
  if (qp.xrcd != nullptr) --qp.xrcd->users;
  if (qp.next_sharer == &qp) return false;
  Qp* previous = qp.next_sharer;
  while (previous->next_sharer != &qp) previous = previous->next_sharer;
  previous->next_sharer = qp.next_sharer;
  if (&holder_of(qp) == &qp) {
    previous->source_port = std::exchange(qp.source_port, std::nullopt);
    previous->alternate_port = std::exchange(qp.alternate_port, std::nullopt);
    qp.queue_pair->user = previous;
  }
  return true;
}

}  // namespace urxe
