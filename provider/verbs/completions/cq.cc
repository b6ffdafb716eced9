// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>

#include <cerrno>
#include <new>

#include "provider/runtime/errors.h"
#include "provider/verbs/completions/comp_channel.h"
#include "provider/verbs/completions/cq_lanes.h"
#include "provider/verbs/verbs.h"

namespace urxe {
namespace {

constexpr uint64_t kTimestamps =
    IBV_WC_EX_WITH_COMPLETION_TIMESTAMP | IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK;
/// The members of a completion that can be asked for. UDP sockets have no VLANs, flow rules or
/// tags.
constexpr uint64_t kShown = uint64_t{IBV_WC_STANDARD_FLAGS} | kTimestamps;
constexpr uint32_t kFlags = IBV_CREATE_CQ_ATTR_SINGLE_THREADED | IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN;

uint32_t flags_of(const ibv_cq_init_attr_ex& init) {
  return (init.comp_mask & IBV_CQ_INIT_ATTR_MASK_FLAGS) != 0 ? init.flags : 0;
}

Pd* domain_of(const ibv_cq_init_attr_ex& init) {
  const bool given = (init.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0;
  return given && init.parent_domain != nullptr ? &pd_of(init.parent_domain) : nullptr;
}

bool is_used_by_one_thread(const ibv_cq_init_attr_ex& init) {
  const Pd* domain = domain_of(init);
  return (flags_of(init) & IBV_CREATE_CQ_ATTR_SINGLE_THREADED) != 0 ||
         (domain != nullptr && domain->thread != nullptr);
}

int check_init(const ibv_context& context, const ibv_cq_init_attr_ex& init) {
  constexpr uint32_t kMembers = IBV_CQ_INIT_ATTR_MASK_FLAGS | IBV_CQ_INIT_ATTR_MASK_PD;
  if ((init.comp_mask & ~kMembers) != 0) return EINVAL;
  if ((init.wc_flags & ~kShown) != 0 || (flags_of(init) & ~kFlags) != 0) return EOPNOTSUPP;
  if ((init.comp_mask & IBV_CQ_INIT_ATTR_MASK_PD) != 0) {
    const Pd* domain = domain_of(init);
    if (domain == nullptr || check_handle(init.parent_domain) != 0) return EINVAL;
    if (domain->base == nullptr || domain->context != &context) return EINVAL;
  }
  const bool has_vector = init.comp_vector < static_cast<uint32_t>(context.num_comp_vectors);
  return init.cqe != 0 && has_vector ? 0 : EINVAL;
}

int make_queue(Cq& cq, const ibv_cq_init_attr_ex& init) {
  Context& owner = *cq.owner;
  const CqOptions options{
      .timestamps = (init.wc_flags & kTimestamps) != 0,
      .ignore_overrun = (flags_of(init) & IBV_CREATE_CQ_ATTR_IGNORE_OVERRUN) != 0,
      .owner = owner.number()};
  RuntimeDevice::Guard guard(owner.device());
  auto queue = owner.device().device().create_cq(init.cqe, &cq, options);
  if (!queue) return queue.error().value;
  cq.queue = *queue;
  cq.cq.cqe = static_cast<int>(cq.queue->capacity());
  cq.cq.handle = admit(cq);
  owner.cqs.push_back(cq);
  return 0;
}

/// Waits until the application has acknowledged every event that it has read (ibv_destroy_cq(3)).
void await_acknowledgements(Cq& cq) {
  const uint64_t element = reinterpret_cast<uintptr_t>(&cq.cq);
  uint32_t completion_events = cq.completion_events;
  if (cq.channel != nullptr) completion_events -= cq.channel->take_back(element);
  const uint32_t async_events = cq.async_events - cq.owner->async_events()->take_back(element);
  pthread_mutex_lock(&cq.cq.mutex);
  while (cq.cq.comp_events_completed != completion_events ||
         cq.cq.async_events_completed != async_events) {
    pthread_cond_wait(&cq.cq.cond, &cq.cq.mutex);
  }
  pthread_mutex_unlock(&cq.cq.mutex);
}

Cq* create(ibv_context* context, const ibv_cq_init_attr_ex& init) {
  Context& owner = context_of(context);
  if (owner.is_forked()) return fail(ENODEV);
  if (int wrong = check_init(*context, init); wrong != 0) return fail(wrong);
  try {
    auto cq = std::make_unique<Cq>();
    cq->owner = &owner;
    cq->progress.store(&owner.progress());
    if (init.channel != nullptr) {
      if (init.channel->context != context) return fail(EINVAL);
      cq->channel = find_channel(init.channel);
      if (cq->channel == nullptr) return fail(EINVAL);
    }
    Pd* domain = domain_of(init);
    if (domain != nullptr) cq->domain = DomainUse(*domain);
    if (is_used_by_one_thread(init)) cq->poller.disable();
    if (int wrong = make_queue(*cq, init); wrong != 0) return fail(wrong);
    return cq.release();
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

}  // namespace

ibv_cq* create_cq(ibv_context* context, int cqe, ibv_comp_channel* channel,
                  int comp_vector) noexcept {
  if (cqe < 1 || comp_vector < 0) return fail(EINVAL);
  ibv_cq_init_attr_ex init{};
  init.cqe = static_cast<uint32_t>(cqe);
  init.channel = channel;
  init.comp_vector = static_cast<uint32_t>(comp_vector);
  Cq* cq = create(context, init);
  return cq != nullptr ? &cq->cq : nullptr;
}

ibv_cq_ex* create_cq_ex(ibv_context* context, ibv_cq_init_attr_ex* init) noexcept {
  Cq* cq = create(context, *init);
  if (cq == nullptr) return nullptr;
  cq->shows_wallclock = (init->wc_flags & IBV_WC_EX_WITH_COMPLETION_TIMESTAMP_WALLCLOCK) != 0;
  set_extended_operations(cq->cq_ex);
  return &cq->cq_ex;
}

int modify_cq(ibv_cq* handle, ibv_modify_cq_attr* attr) noexcept {
  Cq& cq = cq_of(handle);
  if (cq.owner->is_forked()) return ENODEV;
  if ((attr->attr_mask & ~static_cast<uint32_t>(IBV_CQ_ATTR_MODERATE)) != 0) return EINVAL;
  if ((attr->attr_mask & IBV_CQ_ATTR_MODERATE) == 0) return 0;
  const CqModeration moderation{attr->moderate.cq_count, microseconds(attr->moderate.cq_period)};
  RuntimeDevice::Guard guard(cq.owner->device());
  cq.owner->device().device().moderate_cq(*cq.queue, moderation);
  return 0;
}

int resize_cq(ibv_cq* handle, int cqe) noexcept {
  Cq& cq = cq_of(handle);
  if (cq.owner->is_forked()) return ENODEV;
  if (cqe < 1) return EINVAL;
  try {
    std::lock_guard poller(cq.poller);
    RuntimeDevice::Guard guard(cq.owner->device());
    // Datagrams that were posted before count among what the queue holds.
    cq.progress.load()->transmit_posted();
    for_other_lanes(cq, [](Progress& lane) { lane.transmit_posted(); });
    auto resized = cq.owner->device().device().resize_cq(*cq.queue, static_cast<uint32_t>(cqe));
    if (!resized) return resized.error().value;
    cq.cq.cqe = static_cast<int>(cq.queue->capacity());
    return 0;
  } catch (const std::bad_alloc&) {
    return ENOMEM;
  }
}

int end_cq(Cq& cq) {
  auto destroyed = cq.owner->device().device().destroy_cq(cq.queue);
  if (!destroyed) return destroyed.error().value;
  tell_disarmed(cq);
  cq.owner->cqs.remove(cq);
  return 0;
}

int destroy_cq(ibv_cq* handle) noexcept {
  Cq& cq = cq_of(handle);
  if (!cq.owner->is_forked()) {
    {
      RuntimeDevice::Guard guard(cq.owner->device());
      if (int wrong = end_cq(cq); wrong != 0) return wrong;
    }
    await_acknowledgements(cq);
  }
  cq.domain = DomainUse();
  if (cq.channel != nullptr && !cq.owner->is_forked()) note_destroyed_cq();
  cq.channel.reset();
  cq.owner->retired.add(cq);
  return 0;
}

int poll_cq(ibv_cq* handle, int count, ibv_wc* wc) noexcept {
  Cq& cq = cq_of(handle);
  if (cq.owner->is_forked()) return fail(ENODEV);
  if (count <= 0) return 0;
  return poll_lanes(cq, [&] {
    std::lock_guard poller(cq.poller);
    return cq.queue->poll(count, wc);
  });
}

int req_notify_cq(ibv_cq* handle, int solicited_only) noexcept {
  Cq& cq = cq_of(handle);
  if (cq.owner->is_forked()) return ENODEV;
  cq.queue->arm(solicited_only != 0);
  tell_armed(cq);
  return 0;
}

}  // namespace urxe
