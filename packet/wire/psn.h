// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

/// A circular number of 24 bits. Only the distance between two of them orders them; `<` does not
/// exist. Numbers with different tags do not mix.
template <class Tag>
class SequenceNumber {
 public:
  static constexpr uint32_t kMask = 0xffffff;

  constexpr SequenceNumber() = default;
  constexpr explicit SequenceNumber(uint32_t value) : value_(value & kMask) {}

  [[nodiscard]] constexpr uint32_t value() const { return value_; }

  /// How far `this` is ahead of `other`: -2^23 .. 2^23-1.
  [[nodiscard]] constexpr int32_t distance_from(SequenceNumber other) const {
    return static_cast<int32_t>((value_ - other.value_) << 8) >> 8;
  }
  [[nodiscard]] constexpr bool is_before(SequenceNumber other) const {
    return distance_from(other) < 0;
  }
  [[nodiscard]] constexpr bool is_after(SequenceNumber other) const {
    return distance_from(other) > 0;
  }

  friend constexpr SequenceNumber operator+(SequenceNumber number, uint32_t n) {
    return SequenceNumber(number.value_ + n);
  }
  friend constexpr SequenceNumber operator-(SequenceNumber number, uint32_t n) {
    return SequenceNumber(number.value_ - n);
  }
  friend constexpr bool operator==(SequenceNumber, SequenceNumber) = default;
  friend bool operator<(SequenceNumber, SequenceNumber) = delete;
  friend bool operator>(SequenceNumber, SequenceNumber) = delete;

 private:
  uint32_t value_ = 0;
};

/// Packet sequence number (IBTA vol. 1, 9.7.2).
using Psn = SequenceNumber<struct PsnTag>;
/// Message sequence number of a responder, in every AETH: how many messages it has completed
/// (IBTA vol. 1, 9.7.7).
using Msn = SequenceNumber<struct MsnTag>;
/// Send sequence number of a requester: which message, counted from 1 (IBTA vol. 1, 9.7.7).
using Ssn = SequenceNumber<struct SsnTag>;

/// The last message that a responder's credits allow: it has completed `completed` messages and
/// announces `credits` more.
constexpr Ssn credit_limit(Msn completed, uint32_t credits) {
  return Ssn(completed.value() + credits);
}

}  // namespace urxe
