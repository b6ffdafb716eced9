// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "packet/base/short_lock.h"

namespace urxe {

/// What the application did to a part of a region's memory while it was registered.
enum class Loss : uint8_t {
  kNone,
  /// It may be unmapped at any time, unannounced: a block that the application gave back to its
  /// allocator, or memory without all rights. Access only with care (GuardedAccess).
  kUncertain,
  /// A call that unmaps it is under way. It may fail.
  kGoing,
  /// It was unmapped. What is mapped there now is other memory, which no peer was given.
  kGone,
};

/// The parts of a region's memory that the application has taken away: a few address ranges, each
/// with its loss. If there are more than kMost, neighbours are joined: then more is lost than the
/// application took, never less. Thread-safe. Calls are short, and never allocate.
class MemoryLosses {
 public:
  static constexpr size_t kMost = 8;

  /// Whether there were any since forget(). A caller that sees none need not look further, if
  /// whoever loses memory waits for it afterwards.
  [[nodiscard]] bool any() const { return any_.load(std::memory_order_relaxed); }
  /// The worst loss in [begin, end).
  [[nodiscard]] Loss worst(uintptr_t begin, uintptr_t end) const;

  /// [begin, end) is lost. What is gone stays so.
  void lose(uintptr_t begin, uintptr_t end, Loss loss);
  /// [begin, end) has not `loss` any more.
  void regain(uintptr_t begin, uintptr_t end, Loss loss);
  /// What of [begin, end) is going has gone, or stays (`gone`).
  void settle(uintptr_t begin, uintptr_t end, bool gone);
  /// The memory is registered anew.
  void forget();

 private:
  struct Range {
    uintptr_t begin = 0;
    uintptr_t end = 0;
    Loss loss = Loss::kNone;
  };
  /// One more than kMost, until two are joined.
  struct Ranges {
    std::array<Range, kMost + 1> list;
    size_t count = 0;
    void add(const Range& range);
    void unite(Range range);
    void cut(uintptr_t begin, uintptr_t end, Loss loss);
    void join_nearest();
  };
  std::atomic<bool> any_{false};
  mutable ShortLock lock_;
  Ranges ranges_;  ///< by address; those of one loss are disjoint; under the lock
};

}  // namespace urxe
