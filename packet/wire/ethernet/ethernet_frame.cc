// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/ethernet/ethernet_frame.h"

#include <algorithm>

#include "packet/base/bytes.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

constexpr int kMaxVlanTags = 2;
constexpr int kMaxExtensions = 8;
constexpr uint16_t kIpv4FragmentBits = 0x3fff;  ///< "more fragments", and the offset
constexpr uint16_t kIpv6FragmentBits = 0xfff9;

// Extension headers of IPv6 (RFC 8200, RFC 4302).
constexpr uint8_t kHopByHop = 0;
constexpr uint8_t kRouting = 43;
constexpr uint8_t kFragment = 44;
constexpr uint8_t kAuthentication = 51;
constexpr uint8_t kDestinationOptions = 60;

/// The transport header lies at `at` in an IP packet that ends at `end`, of which the frame has
/// `size` bytes. All are at least `at`.
void set_transport(FrameHeaders& headers, uint8_t protocol, size_t at, size_t end, size_t size) {
  const size_t least = protocol == kTcpProtocol ? kTcpHeaderBytes : kUdpHeaderBytes;
  if (protocol != kTcpProtocol && protocol != kUdpProtocol) return;
  if (std::min(end, size) - at < least) return;
  headers.transport =
      protocol == kTcpProtocol ? FrameHeaders::Transport::kTcp : FrameHeaders::Transport::kUdp;
  headers.transport_at = headers.network_at + at;
  headers.transport_bytes = end <= size ? end - at : 0;
}

void parse_ipv4(std::span<const uint8_t> packet, FrameHeaders& headers) {
  if (packet.size() < kIpv4HeaderBytes || packet[0] >> 4 != 4) return;
  const size_t header_bytes = size_t{packet[0] & 0xfU} * 4;
  const size_t total = load_be16(packet.data() + 2);
  if (header_bytes < kIpv4HeaderBytes || header_bytes > packet.size()) return;
  headers.network = FrameHeaders::Network::kIpv4;
  if (total < header_bytes) return;
  if ((load_be16(packet.data() + 6) & kIpv4FragmentBits) != 0) return;
  set_transport(headers, packet[9], header_bytes, total, packet.size());
}

/// The size of an extension header of at least 8 bytes; 0: it is none that can be skipped.
size_t extension_bytes(uint8_t type, const uint8_t* extension) {
  switch (type) {
    case kHopByHop:
    case kRouting:
    case kDestinationOptions:
      return (size_t{extension[1]} + 1) * 8;
    case kFragment:
      return (load_be16(extension + 2) & kIpv6FragmentBits) == 0 ? 8 : 0;
    case kAuthentication:
      return (size_t{extension[1]} + 2) * 4;
    default:
      return 0;
  }
}

void parse_ipv6(std::span<const uint8_t> packet, FrameHeaders& headers) {
  if (packet.size() < kIpv6HeaderBytes || packet[0] >> 4 != 6) return;
  const size_t end = kIpv6HeaderBytes + load_be16(packet.data() + 4);
  headers.network = FrameHeaders::Network::kIpv6;
  const size_t last = std::min(end, packet.size());
  uint8_t type = packet[6];
  size_t at = kIpv6HeaderBytes;
  for (int i = 0; i < kMaxExtensions && last - at >= 8; ++i) {
    const size_t bytes = extension_bytes(type, packet.data() + at);
    if (bytes == 0) break;
    if (bytes > last - at) return;
    type = packet[at];
    at += bytes;
  }
  set_transport(headers, type, at, end, packet.size());
}

}  // namespace

std::optional<FrameHeaders> parse_frame_headers(std::span<const uint8_t> frame) {
  if (frame.size() < kEthernetHeaderBytes) return std::nullopt;
  FrameHeaders headers;
  size_t at = kEtherTypeAt;
  headers.ether_type = load_be16(frame.data() + at);
  for (int tags = 0; tags < kMaxVlanTags && is_vlan_type(headers.ether_type); ++tags) {
    if (frame.size() < at + 2 + kVlanTagBytes) break;
    if (!headers.vlan_tag) headers.vlan_tag = load_be16(frame.data() + at + 2);
    at += kVlanTagBytes;
    headers.ether_type = load_be16(frame.data() + at);
  }
  headers.network_at = at + 2;
  const auto packet = frame.subspan(headers.network_at);
  if (headers.ether_type == kEtherTypeIpv4) parse_ipv4(packet, headers);
  if (headers.ether_type == kEtherTypeIpv6) parse_ipv6(packet, headers);
  return headers;
}

}  // namespace urxe
