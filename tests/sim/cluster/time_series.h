// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "packet/base/time.h"

namespace urxe::sim {

/// What happened in each of some hundred equal spans of a run whose length is not known before:
/// when they are used up, every two become one.
class TimeSeries {
 public:
  enum class Kind : uint8_t { kSum, kMaximum };
  explicit TimeSeries(Kind kind) : kind_(kind) {}

  void add(Instant at, uint64_t value) {
    while (at.ns / span_.ns >= static_cast<int64_t>(kMost)) widen();
    const auto index = static_cast<size_t>(at.ns / span_.ns);
    if (index >= values_.size()) values_.resize(index + 1);
    values_[index] = join(values_[index], value);
  }
  [[nodiscard]] Duration span() const { return span_; }
  [[nodiscard]] const std::vector<uint64_t>& values() const { return values_; }

 private:
  static constexpr size_t kMost = 600;

  [[nodiscard]] uint64_t join(uint64_t a, uint64_t b) const {
    return kind_ == Kind::kSum ? a + b : std::max(a, b);
  }
  void widen() {
    for (size_t i = 0; i < values_.size(); ++i) {
      const uint64_t value = values_[i];
      values_[i] = 0;
      values_[i / 2] = i % 2 == 0 ? value : join(values_[i / 2], value);
    }
    values_.resize((values_.size() + 1) / 2);
    span_ = span_ * 2;
  }

  Kind kind_;
  Duration span_ = microseconds(1);
  std::vector<uint64_t> values_;
};

}  // namespace urxe::sim
