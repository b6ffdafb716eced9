// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>

#include <cerrno>
#include <mutex>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/verbs/completions/cq_lanes.h"
#include "provider/verbs/posting/receive_request.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

/// libibverbs itself turns a request for a plain basic one into ibv_create_srq().
int check_init(const Context& owner, const ibv_srq_init_attr_ex& init) {
  constexpr uint32_t kKnown =
      IBV_SRQ_INIT_ATTR_TYPE | IBV_SRQ_INIT_ATTR_PD | IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  constexpr uint32_t kXrc = IBV_SRQ_INIT_ATTR_XRCD | IBV_SRQ_INIT_ATTR_CQ;
  const bool has_type = (init.comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  const ibv_srq_type type = has_type ? init.srq_type : IBV_SRQT_BASIC;
  if (type == IBV_SRQT_TM || (init.comp_mask & IBV_SRQ_INIT_ATTR_TM) != 0) return EOPNOTSUPP;
  if ((init.comp_mask & ~kKnown) != 0) return EOPNOTSUPP;
  if (type != IBV_SRQT_BASIC && type != IBV_SRQT_XRC) return EINVAL;
  if ((init.comp_mask & IBV_SRQ_INIT_ATTR_PD) == 0 || init.pd == nullptr) return EINVAL;
  if (!is_handle_of(owner, init.pd)) return EINVAL;
  if (type == IBV_SRQT_BASIC) return 0;
  if ((init.comp_mask & kXrc) != kXrc || init.xrcd == nullptr || init.cq == nullptr) return EINVAL;
  return is_handle_of(owner, init.xrcd) && is_handle_of(owner, init.cq) ? 0 : EINVAL;
}

void show(Srq& srq, ibv_context* context, ibv_pd* pd, void* user_context) {
  srq.srq.context = context;
  srq.srq.srq_context = user_context;
  srq.srq.pd = pd;
  srq.srq.handle = srq.srq_num = admit(srq, srq.queue->number.value());
  pthread_mutex_init(&srq.srq.mutex, nullptr);
  pthread_cond_init(&srq.srq.cond, nullptr);
}

/// `xrcd` and `cq` are null for a basic one.
ibv_srq* make(ibv_pd* pd, void* user_context, ibv_srq_attr& attr, Xrcd* xrcd, Cq* cq) {
  Context& owner = *pd_of(pd).owner;
  if (owner.is_forked()) return fail(ENODEV);
  try {
    auto srq = std::make_unique<Srq>();
    srq->owner = &owner;
    srq->domain = DomainUse(pd_of(pd));
    if (pd_of(pd).thread != nullptr) srq->poster.disable();
    RuntimeDevice::Guard guard(owner.device());
    SrqInit init{pd_of(pd).id, attr.max_wr, attr.max_sge, nullptr, nullptr, srq.get()};
    if (xrcd != nullptr) {
      init.domain = xrcd->domain;
      init.cq = cq->queue;
      srq->lane = &owner.device().first_lane();
    }
    auto made = owner.device().device().create_srq(init);
    if (!made) return fail(made.error().value);
    srq->queue = *made;
    srq->srq_type = xrcd != nullptr ? IBV_SRQT_XRC : IBV_SRQT_BASIC;
    srq->xrcd = xrcd;
    srq->cq = cq != nullptr ? &cq->cq : nullptr;
    if (xrcd != nullptr) ++xrcd->users;
    if (cq != nullptr) use_lane(*cq, *srq->lane);
    owner.srqs.push_back(*srq);
    show(*srq, pd->context, pd, user_context);
    attr.max_wr = srq->queue->max_wr();
    attr.max_sge = srq->queue->max_sge();
    return &srq.release()->srq;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

void await_acknowledgements(Srq& srq) {
  const uint64_t element = reinterpret_cast<uintptr_t>(&srq.srq);
  const uint32_t events = srq.async_events - srq.owner->async_events()->take_back(element);
  pthread_mutex_lock(&srq.srq.mutex);
  while (srq.srq.events_completed != events) pthread_cond_wait(&srq.srq.cond, &srq.srq.mutex);
  pthread_mutex_unlock(&srq.srq.mutex);
}

}  // namespace

ibv_srq* create_srq(ibv_pd* pd, ibv_srq_init_attr* init) noexcept {
  return make(pd, init->srq_context, init->attr, nullptr, nullptr);
}

ibv_srq* create_srq_ex(ibv_context* context, ibv_srq_init_attr_ex* init) noexcept {
  if (int wrong = check_init(context_of(context), *init); wrong != 0) return fail(wrong);
  const bool has_type = (init->comp_mask & IBV_SRQ_INIT_ATTR_TYPE) != 0;
  if (!has_type || init->srq_type == IBV_SRQT_BASIC) {
    return make(init->pd, init->srq_context, init->attr, nullptr, nullptr);
  }
  return make(init->pd, init->srq_context, init->attr, &xrcd_of(init->xrcd), &cq_of(init->cq));
}

int modify_srq(ibv_srq* handle, ibv_srq_attr* attr, int mask) noexcept {
  Srq& srq = srq_of(handle);
  if (srq.owner->is_forked()) return ENODEV;
  try {
    std::lock_guard poster(srq.poster);
    RuntimeDevice::Guard guard(srq.owner->device());
    auto modified = srq.owner->device().device().modify_srq(*srq.queue, *attr, mask);
    return modified ? 0 : modified.error().value;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int query_srq(ibv_srq* handle, ibv_srq_attr* attr) noexcept {
  Srq& srq = srq_of(handle);
  if (srq.owner->is_forked()) return ENODEV;
  RuntimeDevice::Guard guard(srq.owner->device());
  *attr = ibv_srq_attr{srq.queue->max_wr(), srq.queue->max_sge(), srq.queue->limit};
  return 0;
}

int get_srq_num(ibv_srq* handle, uint32_t* number) noexcept {
  if (srq_of(handle).srq_type != IBV_SRQT_XRC) return EINVAL;
  *number = srq_of(handle).srq_num;
  return 0;
}

int end_srq(Srq& srq) {
  auto destroyed = srq.owner->device().device().destroy_srq(srq.queue);
  if (!destroyed) return destroyed.error().value;
  if (srq.xrcd != nullptr) --static_cast<Xrcd*>(srq.xrcd)->users;
  srq.owner->srqs.remove(srq);
  return 0;
}

int destroy_srq(ibv_srq* handle) noexcept {
  Srq& srq = srq_of(handle);
  if (!srq.owner->is_forked()) {
    {
      RuntimeDevice::Guard guard(srq.owner->device());
      if (int wrong = end_srq(srq); wrong != 0) return wrong;
    }
    await_acknowledgements(srq);
  }
  srq.domain = DomainUse();
  srq.owner->retired.add(srq);
  return 0;
}

int post_srq_recv(ibv_srq* handle, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept {
  Srq& srq = srq_of(handle);
  int result = ENODEV;
  if (!srq.owner->is_forked()) {
    std::lock_guard poster(srq.poster);
    result = post_receives(srq.queue->queue(), wr);
  }
  if (result != 0) *bad_wr = wr;
  return result;
}

}  // namespace urxe
