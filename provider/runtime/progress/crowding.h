// SPDX-License-Identifier: BSD-2-Clause
#pragma once

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
    if (time < kSlice) {
      slices_.store(0, std::memory_order_relaxed);
      return;
    }
    if (slices_.fetch_add(1, std::memory_order_relaxed) + 1 < kSlicesInARow) return;
    // The next yield tells whether it is over.
    slices_.store(kSlicesInARow - 1, std::memory_order_relaxed);
    until_ns_.store((now + kFor).ns, std::memory_order_relaxed);
  }
  /// Whether to sleep instead of yielding.
  [[nodiscard]] bool is_crowded(Instant now) const {
    return now.ns < until_ns_.load(std::memory_order_relaxed);
  }

 private:
  /// Less than Linux's slices. A peer that shares this processor and takes a packet needs far less.
  static constexpr Duration kSlice = microseconds(500);
  /// A kernel thread, or the host of a virtual machine, may take the processor once.
  static constexpr uint32_t kSlicesInARow = 2;
  static constexpr Duration kFor = milliseconds(200);

  std::atomic<uint32_t> slices_{0};
  std::atomic<int64_t> until_ns_{INT64_MIN};
};

}  // namespace urxe
