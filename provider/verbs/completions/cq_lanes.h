// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/verbs/objects.h"

namespace urxe {

// Which lanes complete to a completion queue. Mostly one does, and the thread that polls the queue
// drives that lane alone. Until a queue pair uses the queue this is the first lane, where nothing
// happens for it. The queues of one completion channel have one lane, if they can: the thread that
// waits for their events drives it.

/// A queue pair of `lane` is going to use the queue. With the locks of all lanes held.
void use_lane(Cq& cq, Lane& lane);

/// The lane that queue pairs should have which use the queue: its own, or that of its channel.
/// Null: any. With the locks of all lanes held.
Lane* wanted_lane(const Cq& cq);

/// The lane that a thread drives while it waits for the channel's events. Any thread.
Lane& lane_of(RuntimeDevice& device, EventSocket& channel);

/// The queue was armed.
void tell_armed(Cq& cq);
/// The queue is not armed any more.
void tell_disarmed(Cq& cq);

/// Calls visit(Progress&) for the other lanes that complete to the queue.
template <class Visit>
void for_other_lanes(const Cq& cq, Visit visit) {
  uint32_t others = cq.other_lanes.load(std::memory_order_acquire);
  for (uint32_t number = 0; others != 0; ++number, others >>= 1) {
    if ((others & 1) != 0) visit(cq.owner->device().lane(number).progress());
  }
}

/// Progress::poll() of all lanes that complete to the queue.
template <class Take>
auto poll_lanes(Cq& cq, Take take) {
  auto taken = cq.progress.load(std::memory_order_acquire)->poll(*cq.queue, take);
  if (!taken) {
    for_other_lanes(cq, [&](Progress& lane) {
      if (!taken) taken = lane.poll(*cq.queue, take);
    });
  }
  return taken;
}

}  // namespace urxe
