// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <compare>
#include <cstdint>

namespace urxe {

/// A span of time in nanoseconds. May be negative.
struct Duration {
  int64_t ns = 0;
  friend constexpr auto operator<=>(Duration, Duration) = default;
  friend constexpr Duration operator+(Duration a, Duration b) { return {a.ns + b.ns}; }
  friend constexpr Duration operator-(Duration a, Duration b) { return {a.ns - b.ns}; }
  friend constexpr Duration operator*(Duration a, int64_t k) { return {a.ns * k}; }
};

constexpr Duration nanoseconds(int64_t n) {
  return {n};
}
constexpr Duration microseconds(int64_t n) {
  return {n * 1000};
}
constexpr Duration milliseconds(int64_t n) {
  return {n * 1000000};
}
constexpr Duration seconds(int64_t n) {
  return {n * 1000000000};
}

/// A point on a monotonic clock. There is no now() here: the caller tells the protocol the time
/// (packet/host/clock.h).
struct Instant {
  int64_t ns = 0;
  friend constexpr auto operator<=>(Instant, Instant) = default;
  friend constexpr Instant operator+(Instant t, Duration d) { return {t.ns + d.ns}; }
  friend constexpr Instant operator-(Instant t, Duration d) { return {t.ns - d.ns}; }
  friend constexpr Duration operator-(Instant a, Instant b) { return {a.ns - b.ns}; }
};

/// Later than every other time.
inline constexpr Instant kNever{INT64_MAX};

}  // namespace urxe
