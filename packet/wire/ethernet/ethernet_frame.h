// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

namespace urxe {

using MacAddress = std::array<uint8_t, 6>;

inline constexpr size_t kEthernetHeaderBytes = 14;
inline constexpr size_t kVlanTagBytes = 4;
inline constexpr size_t kEtherTypeAt = 12;
inline constexpr uint16_t kEtherTypeIpv4 = 0x0800;
inline constexpr uint16_t kEtherTypeIpv6 = 0x86dd;
inline constexpr uint16_t kEtherTypeVlan = 0x8100;         ///< IEEE 802.1Q: a customer's tag
inline constexpr uint16_t kEtherTypeServiceVlan = 0x88a8;  ///< IEEE 802.1ad: a provider's tag
inline constexpr uint8_t kTcpProtocol = 6;
inline constexpr size_t kTcpHeaderBytes = 20;  ///< without options
/// The largest IPv4 header.
inline constexpr size_t kMaxIpv4HeaderBytes = 60;

/// Whether a VLAN tag follows.
constexpr bool is_vlan_type(uint16_t ether_type) {
  return ether_type == kEtherTypeVlan || ether_type == kEtherTypeServiceVlan;
}

/// Whether an address is a group's; the broadcast address is one.
constexpr bool is_group_address(const uint8_t* mac) {
  return (mac[0] & 1) != 0;
}

/// The headers of an Ethernet frame, and where they lie in it.
struct FrameHeaders {
  enum class Network : uint8_t { kOther, kIpv4, kIpv6 };
  enum class Transport : uint8_t { kOther, kTcp, kUdp };

  std::optional<uint16_t> vlan_tag;   ///< of the first VLAN tag: priority and VLAN id
  uint16_t ether_type = 0;            ///< behind the last VLAN tag
  size_t network_at = 0;              ///< what follows the Ethernet type
  Network network = Network::kOther;  ///< its header is complete
  /// Its header is complete, and the IP packet is no fragment.
  Transport transport = Transport::kOther;
  size_t transport_at = 0;
  size_t transport_bytes = 0;  ///< header and payload; 0: the IP packet is cut off
};

/// Takes any bytes. Follows two VLAN tags and eight extension headers of IPv6, and finds nothing
/// behind more of them. Nullopt: shorter than an Ethernet header.
std::optional<FrameHeaders> parse_frame_headers(std::span<const uint8_t> frame);

}  // namespace urxe
