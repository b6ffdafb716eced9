// SPDX-License-Identifier: BSD-2-Clause
#include "transport/memory/memory_losses.h"

#include <algorithm>

namespace urxe {

Loss MemoryLosses::worst(uintptr_t begin, uintptr_t end) const {
  const ShortLock::Guard lock(lock_);
  Loss result = Loss::kNone;
  for (size_t i = 0; i < ranges_.count; ++i) {
    const Range& range = ranges_.list[i];
    if (range.begin < end && begin < range.end) result = std::max(result, range.loss);
  }
  return result;
}

void MemoryLosses::Ranges::add(const Range& range) {
  auto* const end = list.begin() + count;
  auto* const at = std::find_if(list.begin(), end,
                                [&](const Range& other) { return range.begin < other.begin; });
  std::move_backward(at, end, end + 1);
  *at = range;
  ++count;
}

/// Adds a range and all of the same loss that it touches as one.
void MemoryLosses::Ranges::unite(Range range) {
  for (size_t i = 0; i < count;) {
    const Range other = list[i];
    if (other.loss != range.loss || other.end < range.begin || range.end < other.begin) {
      ++i;
      continue;
    }
    range.begin = std::min(range.begin, other.begin);
    range.end = std::max(range.end, other.end);
    std::move(list.begin() + i + 1, list.begin() + count, list.begin() + i);
    --count;
    i = 0;  // it may touch an earlier one now
  }
  add(range);
}

/// Takes [begin, end) out of all ranges of that loss; at most one of them falls in two.
void MemoryLosses::Ranges::cut(uintptr_t begin, uintptr_t end, Loss loss) {
  const Ranges before = *this;
  count = 0;
  for (size_t i = 0; i < before.count; ++i) {
    const Range& range = before.list[i];
    if (range.loss != loss || range.end <= begin || end <= range.begin) {
      add(range);
      continue;
    }
    if (range.begin < begin) add({range.begin, begin, loss});
    if (end < range.end) add({end, range.end, loss});
  }
}

/// Makes one of two neighbours: of those between which least lies; uncertain ones if there are two,
/// because what is gone cannot be used any more.
void MemoryLosses::Ranges::join_nearest() {
  size_t best = 0;
  uintptr_t least = UINTPTR_MAX;
  for (size_t i = 0; i + 1 < count; ++i) {
    const bool costs_access = std::max(list[i].loss, list[i + 1].loss) >= Loss::kGoing;
    const bool apart = list[i].end < list[i + 1].begin;
    const uintptr_t gap = apart ? (list[i + 1].begin - list[i].end) / 2 : 0;
    const uintptr_t cost = gap + (costs_access && apart ? UINTPTR_MAX / 2 : 0);
    if (cost >= least) continue;
    least = cost;
    best = i;
  }
  const Range& first = list[best];
  const Range& second = list[best + 1];
  const Range joined{first.begin, std::max(first.end, second.end),
                     std::max(first.loss, second.loss)};
  std::move(list.begin() + best + 2, list.begin() + count, list.begin() + best);
  count -= 2;
  unite(joined);
}

void MemoryLosses::lose(uintptr_t begin, uintptr_t end, Loss loss) {
  if (begin >= end || loss == Loss::kNone) return;
  const ShortLock::Guard lock(lock_);
  // What is gone in between stays so: worst() finds both.
  ranges_.unite({begin, end, loss});
  while (ranges_.count > kMost) ranges_.join_nearest();
  any_.store(true, std::memory_order_relaxed);
}

void MemoryLosses::regain(uintptr_t begin, uintptr_t end, Loss loss) {
  const ShortLock::Guard lock(lock_);
  ranges_.cut(begin, end, loss);
  while (ranges_.count > kMost) ranges_.join_nearest();
  any_.store(ranges_.count != 0, std::memory_order_relaxed);
}

void MemoryLosses::settle(uintptr_t begin, uintptr_t end, bool gone) {
  const ShortLock::Guard lock(lock_);
  const Ranges before = ranges_;
  ranges_.cut(begin, end, Loss::kGoing);
  while (ranges_.count > kMost) ranges_.join_nearest();
  for (size_t i = 0; gone && i < before.count; ++i) {
    const Range& range = before.list[i];
    const Range part{std::max(range.begin, begin), std::min(range.end, end), Loss::kGone};
    if (range.loss != Loss::kGoing || part.begin >= part.end) continue;
    ranges_.unite(part);
    while (ranges_.count > kMost) ranges_.join_nearest();
  }
  any_.store(ranges_.count != 0, std::memory_order_relaxed);
}

void MemoryLosses::forget() {
  const ShortLock::Guard lock(lock_);
  ranges_.count = 0;
  any_.store(false, std::memory_order_relaxed);
}

}  // namespace urxe
