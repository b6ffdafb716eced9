// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

#include "packet/engine/dpdk/link/ethernet.h"

namespace urxe {

inline constexpr uint8_t kIcmpv6Protocol = 58;
inline constexpr uint8_t kOnLinkHopLimit = 255;  ///< no router has forwarded the packet

/// An ICMPv6 message whose checksum is right.
struct Icmpv6Message {
  Gid source;
  Gid destination;
  uint8_t hop_limit = 0;
  bool has_router_alert = false;   ///< there is a hop-by-hop header
  std::span<const uint8_t> bytes;  ///< from the type on; eight at least
};

/// Takes any bytes. Nullopt: not an IPv6 packet that holds ICMPv6, other extension headers than one
/// hop-by-hop header, a length that does not fit the frame, a wrong checksum.
std::optional<Icmpv6Message> parse_icmpv6(std::span<const uint8_t> frame);

/// The message, whose checksum is filled in, in a frame. With `router_alert` it has a hop-by-hop
/// header (RFC 2711). It must fit a ControlFrame.
ControlFrame make_icmpv6(const Icmpv6Message& message, const MacAddress& to,
                         const MacAddress& from);

}  // namespace urxe
