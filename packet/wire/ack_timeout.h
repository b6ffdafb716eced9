// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

inline constexpr uint8_t kMaxTimeout = 31;  ///< the codes have five bits (IBTA vol. 1, 9.7.6.1.3)

/// The local ACK timeout of a code from 1 to kMaxTimeout: 4.096 us * 2^code.
constexpr Duration ack_timeout_of(uint8_t code) {
  return nanoseconds(int64_t{4096} << code);
}

}  // namespace urxe
