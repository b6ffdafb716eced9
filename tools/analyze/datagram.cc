// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/datagram.h"

#include <algorithm>
#include <optional>

#include "packet/base/bytes.h"
#include "packet/wire/ethernet/ethernet_frame.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe::analyze {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr uint8_t kHopByHop = 0, kRouting = 43, kFragmentHeader = 44, kDestinationOptions = 60;
constexpr int kMaxExtensions = 8;
constexpr int kMaxTags = 4;

/// What follows the link header, without VLAN tags; empty if that is not IP.
Bytes skip_ether_type(Bytes frame, size_t type_at) {
  for (int tags = 0; tags <= kMaxTags && frame.size() >= type_at + 2; ++tags) {
    const uint16_t type = load_be16(frame.data() + type_at);
    if (type == kEtherTypeIpv4 || type == kEtherTypeIpv6) return frame.subspan(type_at + 2);
    if (!is_vlan_type(type)) break;
    type_at += kVlanTagBytes;
  }
  return {};
}

Bytes skip(Bytes frame, size_t bytes) {
  return frame.size() > bytes ? frame.subspan(bytes) : Bytes{};
}

Bytes find_ip(LinkType link_type, Bytes frame) {
  constexpr size_t kSllTypeAt = 14;
  constexpr size_t kSll2HeaderBytes = 20;
  constexpr size_t kNullHeaderBytes = 4;
  switch (link_type) {
    case LinkType::kEthernet:
      return skip_ether_type(frame, kEtherTypeAt);
    case LinkType::kLinuxSll:
      return skip_ether_type(frame, kSllTypeAt);
    case LinkType::kLinuxSll2: {
      // Its type stands first. Behind a VLAN's are the tag and the type of the packet.
      if (frame.size() < kSll2HeaderBytes) return {};
      const bool tagged = is_vlan_type(load_be16(frame.data()));
      return tagged ? skip_ether_type(frame, kSll2HeaderBytes + 2) : skip(frame, kSll2HeaderBytes);
    }
    case LinkType::kNull:
    case LinkType::kLoop:
      return skip(frame, kNullHeaderBytes);
    case LinkType::kRaw:
    case LinkType::kIpv4:
    case LinkType::kIpv6:
      return frame;
  }
  return {};
}

Datagram kind_only(FrameKind kind) {
  Datagram datagram;
  datagram.kind = kind;
  return datagram;
}

/// `udp` begins with the UDP header, and `wire` is how many bytes of it were on the wire.
Datagram read_udp(Datagram datagram, Bytes udp, size_t wire) {
  if (udp.size() < kUdpHeaderBytes) return kind_only(FrameKind::kCut);
  if (load_be16(udp.data() + 2) != kRoceUdpPort) return kind_only(FrameKind::kOther);
  const size_t length = load_be16(udp.data() + 4);
  if (length < kUdpHeaderBytes || length > wire) return kind_only(FrameKind::kCut);
  datagram.kind = FrameKind::kRoce;
  datagram.flow.source_port = load_be16(udp.data());
  datagram.wire_size = length - kUdpHeaderBytes;
  const Bytes payload = udp.subspan(kUdpHeaderBytes);
  datagram.bytes = payload.first(std::min(payload.size(), datagram.wire_size));
  return datagram;
}

Datagram read_ipv4(Bytes ip) {
  constexpr uint16_t kDontFragment = 0x4000;
  constexpr uint16_t kMoreAndOffset = 0x3fff;
  if (ip.size() < kIpv4HeaderBytes) return kind_only(FrameKind::kCut);
  const size_t header = (ip[0] & 0x0fU) * 4;
  const size_t total = load_be16(ip.data() + 2);
  if (header < kIpv4HeaderBytes || total < header) return kind_only(FrameKind::kCut);
  if (ip[9] != kUdpProtocol) return kind_only(FrameKind::kOther);
  const uint16_t fragment = load_be16(ip.data() + 6);
  if ((fragment & kMoreAndOffset) != 0) return kind_only(FrameKind::kFragment);
  if (ip.size() < header) return kind_only(FrameKind::kCut);
  Datagram datagram;
  datagram.identification = load_be16(ip.data() + 4);
  datagram.plain_header = header == kIpv4HeaderBytes && fragment == kDontFragment;
  datagram.flow.traffic_class = ip[1];
  datagram.flow.hop_limit = ip[8];
  datagram.flow.source = Gid::from_ipv4(ip.data() + 12);
  datagram.flow.destination = Gid::from_ipv4(ip.data() + 16);
  return read_udp(datagram, ip.subspan(header), total - header);
}

/// Where the UDP header of an IPv6 packet begins; kOther, kFragment or kCut if there is none.
Expected<size_t, FrameKind> find_ipv6_udp(Bytes ip) {
  uint8_t next = ip[6];
  size_t at = kIpv6HeaderBytes;
  for (int i = 0; i <= kMaxExtensions; ++i) {
    if (next == kUdpProtocol) return at;
    if (next == kFragmentHeader) return Unexpected<FrameKind>(FrameKind::kFragment);
    if (next != kHopByHop && next != kRouting && next != kDestinationOptions) break;
    if (ip.size() < at + 2) return Unexpected<FrameKind>(FrameKind::kCut);
    next = ip[at];
    at += (ip[at + 1] + 1U) * 8;
  }
  return Unexpected<FrameKind>(FrameKind::kOther);
}

Datagram read_ipv6(Bytes ip) {
  if (ip.size() < kIpv6HeaderBytes) return kind_only(FrameKind::kCut);
  const auto at = find_ipv6_udp(ip);
  if (!at) return kind_only(at.error());
  const size_t total = kIpv6HeaderBytes + load_be16(ip.data() + 4);
  if (ip.size() < *at || total < *at) return kind_only(FrameKind::kCut);
  const uint32_t first = load_be32(ip.data());
  Datagram datagram;
  datagram.plain_header = *at == kIpv6HeaderBytes;
  datagram.flow.traffic_class = static_cast<uint8_t>(first >> 20);
  datagram.flow.flow_label = first & 0xfffff;
  datagram.flow.hop_limit = ip[7];
  datagram.flow.source = Gid::from_ipv6(ip.data() + 8);
  datagram.flow.destination = Gid::from_ipv6(ip.data() + 24);
  return read_udp(datagram, ip.subspan(*at), total - *at);
}

}  // namespace

Datagram find_datagram(LinkType link_type, std::span<const uint8_t> frame) {
  const Bytes ip = find_ip(link_type, frame);
  if (ip.empty()) return {};
  switch (ip[0] >> 4) {
    case 4:
      return read_ipv4(ip);
    case 6:
      return read_ipv6(ip);
    default:
      return {};
  }
}

}  // namespace urxe::analyze
