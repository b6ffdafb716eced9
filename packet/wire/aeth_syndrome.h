// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "packet/base/time.h"

namespace urxe {

// The AETH syndrome byte (IBTA vol. 1, 9.7.5, the AETH tables).

enum class AckKind : uint8_t { kAck, kRnrNak, kNak, kReserved };

enum class NakCode : uint8_t {
  kPsnSequenceError = 0,
  kInvalidRequest = 1,
  kRemoteAccessError = 2,
  kRemoteOperationalError = 3,
  kInvalidRdRequest = 4,
};

inline constexpr uint8_t kAckNoCredits = 0x1f;  ///< an ACK that says nothing of credits

constexpr AckKind ack_kind(uint8_t syndrome) {
  switch (syndrome >> 5) {
    case 0:
      return AckKind::kAck;
    case 1:
      return AckKind::kRnrNak;
    case 3:
      return AckKind::kNak;
    default:
      return AckKind::kReserved;
  }
}
constexpr uint8_t syndrome_value(uint8_t syndrome) {
  return syndrome & 0x1f;
}
constexpr uint8_t nak_syndrome(NakCode code) {
  return static_cast<uint8_t>(0x60 | static_cast<unsigned>(code));
}
constexpr uint8_t rnr_syndrome(uint8_t timer_code) {
  return static_cast<uint8_t>(0x20 | (timer_code & 0x1f));
}

/// The wait that an RNR NAK timer code (0..31) asks for; code 0 is the longest, 655.36 ms.
Duration rnr_timer(uint8_t code);

/// How many receive work queue elements a credit code 0..30 stands for; nullopt for 31.
std::optional<uint32_t> credits_from_code(uint8_t code);

/// The largest code that promises no more than `receives` work queue elements.
uint8_t credit_code(uint32_t receives);

}  // namespace urxe
