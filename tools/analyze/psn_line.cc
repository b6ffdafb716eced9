// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/psn_line.h"

#include <algorithm>
#include <iterator>
#include <utility>

namespace urxe::analyze {

void PsnLine::put(LongPsn psn, const PsnRecord& record) {
  records_[psn] = record;
  if (records_.size() > kMaxRecords) records_.erase(records_.begin());
}

std::optional<std::pair<LongPsn, PsnRecord*>> PsnLine::find(LongPsn psn) {
  auto it = records_.upper_bound(psn);
  if (it == records_.begin()) return std::nullopt;
  --it;
  if (psn >= it->first + it->second.span) return std::nullopt;
  return std::pair{it->first, &it->second};
}

const PsnRecord* PsnLine::ending_before(LongPsn psn) const {
  const auto it = records_.lower_bound(psn);
  if (it == records_.begin()) return nullptr;
  const auto before = std::prev(it);
  return before->first + before->second.span == psn ? &before->second : nullptr;
}

const PsnRecord* PsnLine::beginning_at(LongPsn psn) const {
  const auto it = records_.find(psn);
  return it == records_.end() ? nullptr : &it->second;
}

std::vector<LongPsn> PsnLine::between(LongPsn from, LongPsn to, size_t most) const {
  std::vector<LongPsn> psns;
  for (auto it = records_.lower_bound(from); it != records_.end() && it->first < to; ++it) {
    psns.push_back(it->first);
    if (psns.size() > most) return psns;
  }
  for (const auto& [first, hole] : holes_) {
    for (LongPsn psn = std::max(first, from); psn < std::min(hole.end, to); ++psn) {
      psns.push_back(psn);
      if (psns.size() > most) return psns;
    }
  }
  return psns;
}

void PsnLine::open_hole(LongPsn first, const Hole& hole) {
  holes_[first] = hole;
  bound_holes();
}

/// Forgets the lowest holes, which are mostly the oldest.
void PsnLine::bound_holes() {
  while (holes_.size() > kMaxHoles) {
    const auto& [first, hole] = *holes_.begin();
    forgotten_until_ = forgotten_ == 0 ? hole.end : std::max(forgotten_until_, hole.end);
    forgotten_ += static_cast<uint64_t>(hole.end - first);
    holes_.erase(holes_.begin());
  }
}

PsnLine::Holes::const_iterator PsnLine::hole_of(LongPsn psn) const {
  auto it = holes_.upper_bound(psn);
  if (it == holes_.begin()) return holes_.end();
  --it;
  return psn < it->second.end ? it : holes_.end();
}

const Hole* PsnLine::hole_at(LongPsn psn) const {
  const auto it = hole_of(psn);
  return it == holes_.end() ? nullptr : &it->second;
}

LongPsn PsnLine::missing_until(LongPsn psn) const {
  for (auto it = hole_of(psn); it != holes_.end(); it = hole_of(psn)) psn = it->second.end;
  return psn;
}

void PsnLine::fill(LongPsn psn, int64_t span) {
  const LongPsn end = psn + span;
  for (auto it = hole_of(psn); it != holes_.end() && psn < end; it = hole_of(psn)) {
    const auto [first, hole] = *it;
    holes_.erase(it);
    if (first < psn) {
      Hole before = hole;
      before.end = psn;
      holes_[first] = before;
    }
    if (end < hole.end) holes_[end] = hole;
    psn = hole.end;
  }
  bound_holes();
}

std::vector<LongPsn> PsnLine::asked_in_vain(LongPsn from, LongPsn to, Psn query) const {
  std::vector<LongPsn> psns;
  for (const auto& [first, hole] : holes_) {
    if (!hole.query || query.is_before(*hole.query)) continue;
    for (LongPsn psn = std::max(first, from); psn < std::min(hole.end, to); ++psn) {
      psns.push_back(psn);
    }
  }
  return psns;
}

void PsnLine::ask_for(LongPsn from, LongPsn to, Asked how, std::optional<ReportQueries> queries) {
  if (from >= to) return;
  const auto begin = hole_of(from);
  auto it = begin != holes_.end() ? begin : holes_.lower_bound(from);
  while (it != holes_.end() && it->first < to) {
    const auto [first, hole] = *it;
    it = holes_.erase(it);
    // What is before and behind the range stays as it is.
    if (first < from) {
      Hole before = hole;
      before.end = from;
      holes_[first] = before;
    }
    if (hole.end > to) holes_[to] = hole;
    Hole middle = hole;
    middle.end = std::min(hole.end, to);
    middle.asked = how;
    // A report that knows nothing of the repairs on their way asks for no others.
    const bool answered = !hole.query || (queries && !queries->seen.is_before(*hole.query));
    if (queries && answered) {
      middle.query = queries->next;
      middle.asked_ns = queries->time_ns;
    }
    holes_[std::max(first, from)] = middle;
  }
  bound_holes();
}

uint64_t PsnLine::close_holes_below(LongPsn end) {
  // It is not known how many of the forgotten PSNs are below an `end` that is lower.
  uint64_t closed = forgotten_until_ <= end ? std::exchange(forgotten_, 0) : 0;
  while (!holes_.empty() && holes_.begin()->first < end) {
    const auto [first, hole] = *holes_.begin();
    holes_.erase(holes_.begin());
    closed += static_cast<uint64_t>(std::min(hole.end, end) - first);
    if (hole.end > end) {
      holes_[end] = hole;
      break;
    }
  }
  return closed;
}

std::optional<LongPsn> PsnLine::end_of_hole_below(LongPsn psn) const {
  const auto next = holes_.lower_bound(psn);
  if (next == holes_.begin()) return std::nullopt;
  return std::prev(next)->second.end;
}

void PsnLine::doubt_all() {
  for (auto& [psn, record] : records_) record.doubtful = true;
}

uint64_t PsnLine::missing() const {
  uint64_t sum = forgotten_;
  for (const auto& [first, hole] : holes_) sum += static_cast<uint64_t>(hole.end - first);
  return sum;
}

}  // namespace urxe::analyze
