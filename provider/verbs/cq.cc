// SPDX-License-Identifier: BSD-2-Clause
#include <pthread.h>

#include <cerrno>
#include <new>

#include "provider/verbs/comp_channel.h"
#include "provider/verbs/objects.h"
#include "transport/limits.h"

namespace urxe {
namespace {

ibv_cq* fail(int errno_value) {
  errno = errno_value;
  return nullptr;
}

int make_queue(Cq& cq, uint32_t entries) {
  Context& owner = *cq.owner;
  Progress::Guard guard(owner.progress());
  auto queue = owner.device().device().create_cq(entries, &cq);
  if (!queue) return queue.error().value;
  cq.queue = *queue;
  cq.cq.cqe = static_cast<int>(cq.queue->capacity());
  owner.cqs.push_back(cq);
  return 0;
}

/// Waits until the application has acknowledged every event that it was given (ibv_destroy_cq(3)).
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

}  // namespace

ibv_cq* create_cq(ibv_context* context, int cqe, ibv_comp_channel* channel,
                  int comp_vector) noexcept {
  Context& owner = context_of(context);
  if (owner.is_forked()) return fail(ENODEV);
  if (cqe < 1 || comp_vector < 0 || comp_vector >= context->num_comp_vectors) return fail(EINVAL);
  try {
    auto cq = std::make_unique<Cq>();
    cq->owner = &owner;
    cq->progress = &owner.progress();
    if (channel != nullptr) {
      cq->channel = find_channel(channel);
      if (cq->channel == nullptr) return fail(EINVAL);
    }
    if (int wrong = make_queue(*cq, static_cast<uint32_t>(cqe)); wrong != 0) return fail(wrong);
    return &cq.release()->cq;
  } catch (const std::bad_alloc&) {
    return fail(ENOMEM);
  }
}

int resize_cq(ibv_cq* handle, int cqe) noexcept {
  Cq& cq = cq_of(handle);
  if (cq.owner->is_forked()) return ENODEV;
  if (cqe < 1) return EINVAL;
  try {
    Progress::Guard guard(*cq.progress);
    std::lock_guard poller(cq.poller);
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
  cq.progress->on_disarmed(cq.counted_as_armed);
  cq.owner->cqs.remove(cq);
  return 0;
}

int destroy_cq(ibv_cq* handle) noexcept {
  Cq& cq = cq_of(handle);
  if (!cq.owner->is_forked()) {
    {
      Progress::Guard guard(*cq.progress);
      if (int wrong = end_cq(cq); wrong != 0) return wrong;
    }
    await_acknowledgements(cq);
  }
  delete &cq;
  return 0;
}

int poll_cq(ibv_cq* handle, int count, ibv_wc* wc) noexcept {
  Cq& cq = cq_of(handle);
  if (cq.owner->is_forked()) return -ENODEV;
  return cq.progress->poll(*cq.queue, cq.poller, count, wc);
}

int req_notify_cq(ibv_cq* handle, int solicited_only) noexcept {
  Cq& cq = cq_of(handle);
  if (cq.owner->is_forked()) return ENODEV;
  cq.queue->arm(solicited_only != 0);
  cq.progress->on_armed(cq.counted_as_armed);
  return 0;
}

}  // namespace urxe
