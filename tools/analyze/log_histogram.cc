// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/log_histogram.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace urxe::analyze {
namespace {

constexpr unsigned kStepBits = 4;
constexpr uint64_t kSteps = 1U << kStepBits;
constexpr size_t kBuckets = (64 - kStepBits) * kSteps;

size_t bucket_of(uint64_t value) {
  if (value < kSteps) return value;
  const auto shift = static_cast<unsigned>(std::bit_width(value)) - 1 - kStepBits;
  return (shift + 1) * kSteps + ((value >> shift) - kSteps);
}

/// The largest value of a bucket.
int64_t bucket_end(size_t bucket) {
  if (bucket < kSteps) return static_cast<int64_t>(bucket);
  const size_t shift = bucket / kSteps - 1;
  const uint64_t next = kSteps + bucket % kSteps + 1;
  return static_cast<int64_t>((next << shift) - 1);
}

int64_t bucket_begin(size_t bucket) {
  return bucket == 0 ? 0 : bucket_end(bucket - 1) + 1;
}

}  // namespace

void LogHistogram::add(int64_t ns) {
  ns = std::max<int64_t>(ns, 0);
  if (buckets_.empty()) buckets_.resize(kBuckets);
  ++buckets_[bucket_of(static_cast<uint64_t>(ns))];
  min_ = count_ == 0 ? ns : std::min(min_, ns);
  max_ = std::max(max_, ns);
  ++count_;
}

std::vector<LogHistogram::Bucket> LogHistogram::buckets() const {
  std::vector<Bucket> found;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    if (buckets_[i] == 0) continue;
    found.push_back({bucket_begin(i), bucket_end(i), buckets_[i]});
  }
  return found;
}

/// The value of that rank in a bucket, as if its values were spread evenly.
int64_t LogHistogram::value_within(size_t bucket, uint64_t rank) const {
  const int64_t begin = std::max(bucket_begin(bucket), min_);
  const auto width = static_cast<double>(std::min(bucket_end(bucket), max_) - begin);
  const double part = (static_cast<double>(rank) - 0.5) / static_cast<double>(buckets_[bucket]);
  return begin + static_cast<int64_t>(width * part);
}

int64_t LogHistogram::quantile(double part) const {
  const auto rank = static_cast<uint64_t>(std::ceil(part * static_cast<double>(count_)));
  uint64_t seen = 0;
  for (size_t i = 0; i < buckets_.size(); ++i) {
    const uint64_t before = seen;
    seen += buckets_[i];
    if (seen >= rank && seen != 0) return std::clamp(value_within(i, rank - before), min_, max_);
  }
  return max_;
}

}  // namespace urxe::analyze
