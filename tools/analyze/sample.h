// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace urxe::analyze {

/// Keeps all values up to a bound; from then on every second one, then every fourth, and so on:
/// what is kept always spreads over all that came. Never more than `kMost` values.
template <typename T, size_t kMost>
class Sample {
  static_assert(kMost >= 2 && kMost % 2 == 0);

 public:
  void add(const T& value) {
    if (seen_++ % every_ != 0) return;
    if (kept_.size() == kMost) {
      for (size_t i = 0; i < kMost / 2; ++i) kept_[i] = kept_[2 * i];
      kept_.resize(kMost / 2);
      every_ *= 2;
      if ((seen_ - 1) % every_ != 0) return;
    }
    kept_.push_back(value);
  }
  /// Takes back the newest value for which `matches` holds, or one that was not kept.
  template <typename Predicate>
  void take_back(const Predicate& matches) {
    if (seen_ == 0) return;
    --seen_;
    const auto found = std::find_if(kept_.rbegin(), kept_.rend(), matches);
    if (found != kept_.rend()) kept_.erase(found.base() - 1);
  }
  [[nodiscard]] const std::vector<T>& kept() const { return kept_; }
  [[nodiscard]] uint64_t seen() const { return seen_; }
  /// One of so many values was kept.
  [[nodiscard]] uint64_t every() const { return every_; }

 private:
  std::vector<T> kept_;
  uint64_t seen_ = 0;
  uint64_t every_ = 1;
};

}  // namespace urxe::analyze
