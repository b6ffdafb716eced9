// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// An Instant or a Duration, or none: as std::optional, in half the space. INT64_MIN nanoseconds
/// stand for none.
template <class Time>
class MaybeTime {
 public:
  constexpr MaybeTime() = default;
  // NOLINTNEXTLINE(google-explicit-constructor): as std::optional
  constexpr MaybeTime(Time time) : time_(time) {}

  constexpr explicit operator bool() const { return time_.ns != kNone; }
  /// Only if there is one.
  constexpr const Time& operator*() const { return time_; }
  constexpr void reset() { time_.ns = kNone; }

 private:
  static constexpr int64_t kNone = INT64_MIN;

  Time time_{kNone};
};

using MaybeInstant = MaybeTime<Instant>;
using MaybeDuration = MaybeTime<Duration>;

}  // namespace urxe
