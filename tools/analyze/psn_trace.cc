// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/psn_trace.h"

#include <algorithm>

namespace urxe::analyze {
namespace {

void extend(PsnTrace::Point& point, const PsnTrace::Point& by) {
  point.first_ns = std::min(point.first_ns, by.first_ns);
  point.last_ns = std::max(point.last_ns, by.last_ns);
  point.least = std::min(point.least, by.least);
  point.most = std::max(point.most, by.most);
  point.packets += by.packets;
}

}  // namespace

void PsnTrace::add(int64_t time_ns, LongPsn psn, int64_t span) {
  const Point packet{time_ns, time_ns, psn, psn + std::max<int64_t>(span, 1) - 1, 1};
  if (!points_.empty() && points_.back().packets < per_point_) {
    extend(points_.back(), packet);
    return;
  }
  if (points_.size() == kMaxPoints) halve();
  points_.push_back(packet);
}

void PsnTrace::halve() {
  size_t kept = 0;
  for (size_t i = 0; i < points_.size(); i += 2) {
    points_[kept] = points_[i];
    if (i + 1 < points_.size()) extend(points_[kept], points_[i + 1]);
    ++kept;
  }
  points_.resize(kept);
  per_point_ *= 2;
}

PsnTrace PsnTrace::reduced(size_t most) const {
  PsnTrace trace = *this;
  while (trace.points_.size() > std::max<size_t>(most, 1)) trace.halve();
  return trace;
}

}  // namespace urxe::analyze
