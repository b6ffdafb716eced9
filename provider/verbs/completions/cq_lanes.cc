// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/completions/cq_lanes.h"

namespace urxe {
namespace {

void set_lane(Cq& cq, Lane& lane) {
  cq.lane = &lane;
  if (cq.channel != nullptr) {
    // The first queue of a channel decides for the others.
    uint32_t none = 0;
    cq.channel->use().lane.compare_exchange_strong(none, lane.number() + 1);
  }
  Progress* const before = cq.progress.exchange(&lane.progress());
  if (before == &lane.progress()) return;
  lane.progress().take_over_armed(cq.counted_as_armed, *before, cq.channel.get());
}

}  // namespace

void use_lane(Cq& cq, Lane& lane) {
  if (cq.lane == nullptr) set_lane(cq, lane);
  if (cq.lane != &lane) cq.other_lanes.fetch_or(1U << lane.number());
}

Lane* wanted_lane(const Cq& cq) {
  if (cq.lane != nullptr) return cq.lane;
  const uint32_t of_channel = cq.channel != nullptr ? cq.channel->use().lane.load() : 0;
  return of_channel != 0 ? &cq.owner->device().lane(of_channel - 1) : nullptr;
}

Lane& lane_of(RuntimeDevice& device, EventSocket& channel) {
  const uint32_t lane = channel.use().lane.load();
  return device.lane(lane != 0 ? lane - 1 : 0);
}

// The queue may get its lane meanwhile (set_lane()): then one of the two threads sees what the
// other has done, and moves the count.
void tell_armed(Cq& cq) {
  Progress* const first = cq.progress.load();
  first->on_armed(cq.counted_as_armed, cq.channel.get());
  if (Progress* const now = cq.progress.load(); now != first) {
    now->take_over_armed(cq.counted_as_armed, *first, cq.channel.get());
  }
  for_other_lanes(cq, [](Progress& lane) { lane.on_armed_elsewhere(); });
}

void tell_disarmed(Cq& cq) {
  Progress::on_disarmed(cq.counted_as_armed, cq.channel.get());
}

}  // namespace urxe
