// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sched.h>

#include <atomic>

#include "provider/runtime/progress/progress.h"

namespace urxe {

/// Who reads and writes the memory of regions, a device, as threads see it that unmap memory of the
/// application. Thread-safe.
class MemoryUser {
 public:
  /// `progress` must outlive it.
  explicit MemoryUser(Progress& progress) : progress_(progress) {}

  /// The user does not end between the two. Visitors may hold locks of the allocator, so the end
  /// waits for them, and not they for the end.
  void enter() { visitors_.fetch_add(1); }
  void leave() { visitors_.fetch_sub(1); }
  /// Returns when accesses that had begun are over. For visitors.
  void wait_for_accesses() { progress_.wait_for_holder(); }

  /// Returns when there are no visitors.
  void wait_for_visitors() const {
    while (visitors_.load() != 0) sched_yield();
  }
  /// In a forked child: their threads stayed with the parent.
  void forget_visitors() { visitors_.store(0); }

 private:
  Progress& progress_;
  std::atomic<int> visitors_{0};
};

}  // namespace urxe
