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
/// RoCEv2 packets are sent from the dynamic ports (RFC 6335): 0xC000 to 0xFFFF, host order.
inline constexpr uint16_t kFirstSourcePort = 0xc000;
inline constexpr uint16_t kSourcePorts = 0x4000;
/// IPv4's time to live and IPv6's hop limit of packets for which nobody has chosen one. A flow with
/// 0, which no IP packet can have, gets it too.
inline constexpr uint8_t kDefaultHopLimit = 64;
inline constexpr uint32_t kMulticastQpn = 0xffffff;

/// The source port that the low 14 bits of `bits` choose.
constexpr uint16_t source_port_by(uint64_t bits) {
  return static_cast<uint16_t>(kFirstSourcePort | (bits & (kSourcePorts - 1)));
}

/// The partition that a P_Key names, 0 if it is none (IBTA vol. 1, 10.9.1). The highest bit is of
/// the membership.
constexpr uint16_t partition_of(PKey pkey) {
  return pkey.value() & 0x7fff;
}

/// IBTA vol. 1, 10.9.3: the same partition, and not two limited members.
constexpr bool pkeys_match(PKey a, PKey b) {
  constexpr uint16_t kFull = 0x8000;
  return partition_of(a) == partition_of(b) && ((a.value() | b.value()) & kFull) != 0;
}

}  // namespace urxe
