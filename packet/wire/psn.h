// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

/// A packet sequence number: 24 bits, circular (IBTA vol. 1, 9.7.2). Only the distance between two
/// of them orders them; `<` does not exist.
class Psn {
 public:
  static constexpr uint32_t kMask = 0xffffff;

  constexpr Psn() = default;
  constexpr explicit Psn(uint32_t value) : value_(value & kMask) {}

  [[nodiscard]] constexpr uint32_t value() const { return value_; }

  /// How far `this` is ahead of `other`: -2^23 .. 2^23-1.
  [[nodiscard]] constexpr int32_t distance_from(Psn other) const {
    return static_cast<int32_t>((value_ - other.value_) << 8) >> 8;
  }
  [[nodiscard]] constexpr bool is_before(Psn other) const { return distance_from(other) < 0; }
  [[nodiscard]] constexpr bool is_after(Psn other) const { return distance_from(other) > 0; }

  friend constexpr Psn operator+(Psn psn, uint32_t n) { return Psn(psn.value_ + n); }
  friend constexpr Psn operator-(Psn psn, uint32_t n) { return Psn(psn.value_ - n); }
  friend constexpr bool operator==(Psn, Psn) = default;
  friend bool operator<(Psn, Psn) = delete;
  friend bool operator>(Psn, Psn) = delete;

 private:
  uint32_t value_ = 0;
};

}  // namespace urxe
