// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "tools/analyze/psn_line.h"

namespace urxe::analyze {

/// Packets over time and PSN, for a plot. Each packet is a point at first; when there are too many
/// points, neighbours become one that covers both. So its size is bounded, and no packet is left
/// out of the plot.
class PsnTrace {
 public:
  static constexpr size_t kMaxPoints = 2048;

  struct Point {
    int64_t first_ns = 0;
    int64_t last_ns = 0;
    LongPsn least = 0;
    LongPsn most = 0;  ///< the last PSN, not the one behind it
    uint64_t packets = 0;
  };

  /// A packet that takes `span` PSNs.
  void add(int64_t time_ns, LongPsn psn, int64_t span);
  [[nodiscard]] const std::vector<Point>& points() const { return points_; }
  /// A point covers at most so many packets.
  [[nodiscard]] uint64_t packets_per_point() const { return per_point_; }
  /// The same with at most `most` points (not 0).
  [[nodiscard]] PsnTrace reduced(size_t most) const;

 private:
  void halve();

  std::vector<Point> points_;
  uint64_t per_point_ = 1;
};

}  // namespace urxe::analyze
