// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace urxe::analyze {

/// Counts durations in buckets whose widths grow with them: quantiles are estimates that are right
/// to 1/16, the smallest and the largest value exactly. Its size does not depend on how many values
/// it has.
class LogHistogram {
 public:
  /// Negative values count as 0.
  void add(int64_t ns);
  /// So many values are at least `least` and at most `most`.
  struct Bucket {
    int64_t least = 0;
    int64_t most = 0;
    uint64_t count = 0;
  };
  /// Those that have values, from the shortest to the longest duration.
  [[nodiscard]] std::vector<Bucket> buckets() const;
  [[nodiscard]] uint64_t count() const { return count_; }
  [[nodiscard]] int64_t min() const { return min_; }
  [[nodiscard]] int64_t max() const { return max_; }
  /// About the value that `part` (0 to 1) of the values do not exceed; 0 if there are none.
  [[nodiscard]] int64_t quantile(double part) const;

 private:
  [[nodiscard]] int64_t value_within(size_t bucket, uint64_t rank) const;

  std::vector<uint32_t> buckets_;  ///< none before the first value
  uint64_t count_ = 0;
  int64_t min_ = 0;
  int64_t max_ = 0;
};

}  // namespace urxe::analyze
