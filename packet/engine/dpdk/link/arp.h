// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <span>

#include "packet/engine/dpdk/link/ethernet.h"

namespace urxe {

/// A packet of the address resolution protocol (RFC 826) for IPv4 over Ethernet.
struct ArpPacket {
  bool is_request = false;
  MacAddress sender_mac{};
  Gid sender;  ///< zero: 0.0.0.0, a probe
  MacAddress target_mac{};
  Gid target;
};

/// Takes any bytes. Nullopt: no whole ARP packet for IPv4, or one whose sender is a group.
std::optional<ArpPacket> parse_arp(std::span<const uint8_t> frame);

/// The packet in a frame from its sender to `to`.
ControlFrame make_arp(const ArpPacket& packet, const MacAddress& to);

}  // namespace urxe
