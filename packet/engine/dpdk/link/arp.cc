// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/link/arp.h"

#include <cstring>

namespace urxe {
namespace {

constexpr size_t kArpBytes = 28;
/// Ethernet, IPv4, six and four bytes long.
constexpr uint8_t kKind[6] = {0, 1, 8, 0, 6, 4};
constexpr uint16_t kRequest = 1;
constexpr uint16_t kReply = 2;

Gid read_address(const uint8_t* bytes) {
  constexpr uint8_t kUnspecified[4] = {};
  return std::memcmp(bytes, kUnspecified, 4) == 0 ? Gid{} : Gid::from_ipv4(bytes);
}

void write_address(uint8_t* out, const Gid& address) {
  if (!address.is_zero()) std::memcpy(out, address.ipv4(), 4);
}

MacAddress read_mac(const uint8_t* bytes) {
  MacAddress mac;
  std::memcpy(mac.data(), bytes, mac.size());
  return mac;
}

}  // namespace

std::optional<ArpPacket> parse_arp(std::span<const uint8_t> frame) {
  if (ether_type(frame) != kEtherTypeArp || frame.size() < kEthernetHeaderBytes + kArpBytes) {
    return std::nullopt;
  }
  const uint8_t* const arp = frame.data() + kEthernetHeaderBytes;
  const uint16_t operation = load_be16(arp + 6);
  if (std::memcmp(arp, kKind, sizeof kKind) != 0) return std::nullopt;
  if (operation != kRequest && operation != kReply) return std::nullopt;
  ArpPacket packet;
  packet.is_request = operation == kRequest;
  packet.sender_mac = read_mac(arp + 8);
  packet.sender = read_address(arp + 14);
  packet.target_mac = read_mac(arp + 18);
  packet.target = read_address(arp + 24);
  const bool is_group = (packet.sender_mac[0] & 1) != 0 || packet.sender.is_multicast();
  return is_group ? std::nullopt : std::optional(packet);
}

ControlFrame make_arp(const ArpPacket& packet, const MacAddress& to) {
  ControlFrame frame;
  uint8_t* const arp =
      frame.bytes.data() + write_ethernet(frame.bytes.data(), to, packet.sender_mac, kEtherTypeArp);
  std::memcpy(arp, kKind, sizeof kKind);
  store_be16(arp + 6, packet.is_request ? kRequest : kReply);
  std::ranges::copy(packet.sender_mac, arp + 8);
  write_address(arp + 14, packet.sender);
  std::ranges::copy(packet.target_mac, arp + 18);
  write_address(arp + 24, packet.target);
  frame.size = kEthernetHeaderBytes + kArpBytes;
  return frame;
}

}  // namespace urxe
