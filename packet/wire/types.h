// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/strong_int.h"

namespace urxe {

using Qpn = StrongInt<struct QpnTag, uint32_t>;    ///< queue pair number, 24 bits
using LKey = StrongInt<struct LKeyTag, uint32_t>;  ///< local key of a memory region
using RKey = StrongInt<struct RKeyTag, uint32_t>;  ///< remote key of a region or window
using PKey = StrongInt<struct PKeyTag, uint16_t>;  ///< partition key; bit 15: full member
using QKey = StrongInt<struct QKeyTag, uint32_t>;  ///< queue key of a datagram queue pair
using Srqn = StrongInt<struct SrqnTag, uint32_t>;  ///< shared receive queue number, 24 bits

inline constexpr PKey kDefaultPKey{0xffff};
inline constexpr uint16_t kRoceUdpPort = 4791;
inline constexpr uint32_t kMulticastQpn = 0xffffff;

/// IBTA vol. 1, 10.9.3: the same partition, and not two limited members.
constexpr bool pkeys_match(PKey a, PKey b) {
  constexpr uint16_t kPartition = 0x7fff;
  constexpr uint16_t kFull = 0x8000;
  return ((a.value() ^ b.value()) & kPartition) == 0 && ((a.value() | b.value()) & kFull) != 0;
}

}  // namespace urxe
