// SPDX-License-Identifier: BSD-2-Clause
#include "transport/device/channel_adapter.h"

#include <algorithm>
#include <new>

#include "transport/queue_pair/queue_pair.h"
#include "transport/queues/completion_queue.h"

namespace urxe {

void ChannelAdapter::raise(const AsyncEvent& event) {
  try {
    events.push_back(event);
  } catch (const std::bad_alloc&) {
    // The caller is in the middle of a packet, and what it tells of must not be left half done.
  }
}

void ChannelAdapter::notify(CompletionQueue& cq) {
  held_events.remove(cq);
  if (cq.notified.exchange(true)) return;  // that event is still to come
  notified.push_back(&cq);
}

void ChannelAdapter::hold_event(CompletionQueue& cq) {
  const Duration period = cq.moderation().period;
  if (cq.ListHook<HeldEventTag>::linked() || period.ns == 0) return;
  cq.held_until = now + period;
  held_events.push_back(cq);
  next_held_event = std::min(next_held_event.value_or(cq.held_until), cq.held_until);
}

void ChannelAdapter::release_held_events() {
  if (!next_held_event || now < *next_held_event) return;
  next_held_event.reset();
  held_events.for_each([this](CompletionQueue& cq) {
    if (cq.held_until > now) {
      next_held_event = std::min(next_held_event.value_or(cq.held_until), cq.held_until);
    } else if (cq.release_event()) {
      notify(cq);
    } else {
      held_events.remove(cq);
    }
  });
}

void ChannelAdapter::moderate(CompletionQueue& cq, CqModeration moderation) {
  cq.set_moderation(moderation);
  if (cq.holds_event() && cq.release_event()) notify(cq);
}

void ChannelAdapter::complete(CompletionQueue& cq, QueuePair& qp, const ibv_wc& wc, bool solicited,
                              FreedSlots slots) {
  const bool was_in_error = cq.in_error();
  switch (cq.push(wc, solicited, now, slots)) {
    case CompletionQueue::Push::kQuiet:
      break;
    case CompletionQueue::Push::kNotify:
      notify(cq);
      break;
    case CompletionQueue::Push::kHeld:
      hold_event(cq);
      break;
    case CompletionQueue::Push::kLost:
      ++counters.cq_overflows;
      break;
    case CompletionQueue::Push::kOverflow:
      ++counters.cq_overflows;
      qp.cq_failed = true;
      if (!was_in_error) raise({IBV_EVENT_CQ_ERR, nullptr, &cq, nullptr});
      break;
  }
}

}  // namespace urxe
