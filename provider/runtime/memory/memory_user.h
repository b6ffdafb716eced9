// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <span>

#include "packet/engine/lane_choice.h"
#include "provider/runtime/progress/progress.h"

namespace urxe {

/// Who reads and writes the memory of regions, a device, as threads see it that unmap memory of the
/// application. Thread-safe.
class MemoryUser {
 public:
  /// A lane reads and writes it, too. Must outlive this. For one thread at a time.
  void add_lane(Progress& lane) {
    const size_t count = count_.load();
    lanes_[count] = &lane;
    count_.store(count + 1);
  }

  /// The user does not end between the two. Visitors may hold locks of the allocator, so the end
  /// waits for them, and not they for the end.
  void enter() { visitors_.fetch_add(1); }
  void leave() { visitors_.fetch_sub(1); }
  /// Returns when accesses that had begun are over. For visitors.
  void wait_for_accesses() {
    const std::span lanes(lanes_.data(), count_.load());
    // A thread that drives a lane frees memory of its own. The holder of another lane may wait for
    // it.
    const auto is_mine = [](const Progress* lane) { return lane->is_held_by_caller(); };
    if (std::ranges::any_of(lanes, is_mine)) return;
    for (Progress* lane : lanes) lane->wait_for_holder();
  }

  /// Returns when there are no visitors.
  void wait_for_visitors() const {
    while (visitors_.load() != 0) sched_yield();
  }
  /// In a forked child: their threads stayed with the parent.
  void forget_visitors() { visitors_.store(0); }

 private:
  std::array<Progress*, kMostLanes> lanes_{};
  std::atomic<size_t> count_{0};
  std::atomic<int> visitors_{0};
};

}  // namespace urxe
