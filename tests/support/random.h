// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

/// A small deterministic generator (splitmix64). The same seed gives the same numbers everywhere,
/// which the standard library's distributions do not promise.
class Random {
 public:
  explicit Random(uint64_t seed) : state_(seed) {}

  uint64_t next() { return mix(state_ += kGoldenRatio); }
  /// 0 .. bound-1; 0 where bound is 0.
  uint64_t below(uint64_t bound) { return bound == 0 ? 0 : next() % bound; }
  /// low .. high, both included.
  uint64_t range(uint64_t low, uint64_t high) { return low + below(high - low + 1); }
  uint32_t range32(uint32_t low, uint32_t high) { return static_cast<uint32_t>(range(low, high)); }
  bool chance(uint32_t per_million) { return below(1000000) < per_million; }
  bool percent(uint32_t hundredths) { return below(100) < hundredths; }
  /// A generator of its own for another purpose, so that one's draws do not shift the other's.
  Random fork() { return Random(next()); }

  static constexpr uint64_t kGoldenRatio = 0x9e3779b97f4a7c15;  ///< of 2^64
  /// Spreads the bits of a number over all bits of the result, one to one.
  static constexpr uint64_t mix(uint64_t z) {
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  uint64_t state_;
};

}  // namespace urxe
