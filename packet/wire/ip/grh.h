// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "packet/wire/roce_packet.h"

namespace urxe {

/// The bytes before a datagram's payload in a receive buffer.
inline constexpr size_t kGrhBytes = 40;

/// The IP header of a received packet of `packet_bytes` (BTH to ICRC), in the place of the global
/// route header (IBTA annex A17.4.5.1). IPv6: that header. IPv4: 20 bytes of zeros, then the header
/// without options, with DF set and a correct checksum.
std::array<uint8_t, kGrhBytes> make_grh(const Flow& flow, uint16_t ipv4_identification,
                                        size_t packet_bytes);

}  // namespace urxe
