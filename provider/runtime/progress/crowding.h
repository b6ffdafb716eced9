// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// Notices that more threads want a processor than there are processors. A thread that polls in
/// vain must then not yield: Linux lets each of the others run for a whole slice, some
/// milliseconds, before it comes back. A thread that sleeps until packets come gets a processor as
/// soon as they do.
///
/// Any thread may call each function. What concurrent calls lose is learnt again.
class Crowding {
 public:
  /// sched_yield(2) has returned after `time`.
  void yielded(Duration time, Instant now) {
    const uint32_t signs = signs_.load(std::memory_order_relaxed);
    if (time < kSlice) {
      if (signs > 0) signs_.store(signs - 1, std::memory_order_relaxed);
      return;
    }
    if (signs + kOfSlice < kEnough && time < kManySlices) {
      signs_.store(signs + kOfSlice, std::memory_order_relaxed);
      return;
    }
    // The next yield tells whether it is over.
    signs_.store(kEnough - kOfSlice, std::memory_order_relaxed);
    const Duration pause = std::clamp(time * kForFactor, kFor, kLongestFor);
    until_ns_.store((now + pause).ns, std::memory_order_relaxed);
  }
  /// A thread that slept runs `late` after its timer was due. If that is long, there is a crowd. If
  /// not, there may be one all the same: Linux prefers a thread that wakes up.
  void woke_up(Duration late, Instant now) {
    if (late >= kManySlices) yielded(late, now);
  }
  /// Whether to sleep instead of yielding.
  [[nodiscard]] bool is_crowded(Instant now) const {
    return now.ns < until_ns_.load(std::memory_order_relaxed);
  }

 private:
  /// Less than Linux's slices. A peer that shares this processor and takes a packet needs far less.
  static constexpr Duration kSlice = microseconds(500);
  // Two slices in a row are enough, or some more with up to three short yields after each, in which
  // a peer on this processor has its turn. One is not: a kernel thread, or the host of a virtual
  // machine, may take the processor once.
  static constexpr uint32_t kOfSlice = 4;  ///< signs; a short yield takes one away
  static constexpr uint32_t kEnough = 2 * kOfSlice;
  static constexpr Duration kFor = milliseconds(200);
  // With a hundred threads for each processor, a yield has been seen to take a second. One such
  // yield is enough, and the next comes when twenty times as long has passed.
  static constexpr Duration kManySlices = milliseconds(50);
  static constexpr int64_t kForFactor = 20;
  static constexpr Duration kLongestFor = seconds(5);

  std::atomic<uint32_t> signs_{0};
  std::atomic<int64_t> until_ns_{INT64_MIN};
};

}  // namespace urxe
