// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "packet/wire/roce_packet.h"

namespace urxe {

/// What comes before a datagram's payload in a receive buffer.
inline constexpr size_t kGrhBytes = 40;

/// The IP header that a packet of `packet_bytes` (BTH to ICRC) came with, in the place of the
/// global route header (IBTA annex A17.4.5.1): for IPv6 that header; for IPv4 20 bytes of zeros and
/// that header, without options, DF set, its checksum right.
std::array<uint8_t, kGrhBytes> make_grh(const Flow& flow, uint16_t ipv4_identification,
                                        size_t packet_bytes);

}  // namespace urxe
