// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/psn_ranges.h"

#include <algorithm>
#include <iterator>

namespace urxe::analyze {

void PsnRanges::add(LongPsn from, LongPsn to) {
  if (from >= to) return;
  auto it = ranges_.upper_bound(from);
  if (it != ranges_.begin() && std::prev(it)->second >= from) --it;
  while (it != ranges_.end() && it->first <= to) {
    from = std::min(from, it->first);
    to = std::max(to, it->second);
    it = ranges_.erase(it);
  }
  ranges_.emplace_hint(it, from, to);
  if (ranges_.size() > kMost) ranges_.erase(ranges_.begin());
}

void PsnRanges::remove(LongPsn from, LongPsn to) {
  if (from >= to) return;
  auto it = ranges_.upper_bound(from);
  if (it != ranges_.begin()) --it;
  while (it != ranges_.end() && it->first < to) {
    const auto [first, end] = *it;
    if (end <= from) {
      ++it;
      continue;
    }
    it = ranges_.erase(it);
    if (first < from) ranges_[first] = from;
    if (end > to) ranges_[to] = end;
  }
  if (ranges_.size() > kMost) ranges_.erase(ranges_.begin());
}

LongPsn PsnRanges::end_of(LongPsn psn) const {
  const auto it = ranges_.upper_bound(psn);
  return it == ranges_.begin() ? psn : std::max(psn, std::prev(it)->second);
}

LongPsn PsnRanges::next(LongPsn psn, LongPsn limit) const {
  if (has(psn)) return std::min(psn, limit);
  const auto it = ranges_.lower_bound(psn);
  return it == ranges_.end() ? limit : std::min(it->first, limit);
}

}  // namespace urxe::analyze
