// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/frame.h"

#include <algorithm>
#include <cstring>

#include "packet/base/bytes.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

constexpr uint16_t kFragmentBits = 0x3fff;  ///< "more fragments", and the offset
constexpr uint32_t kFlowLabelMask = 0xfffff;
constexpr uint8_t kDefaultTtl = 64;
constexpr size_t kUdpChecksumAt = 6;

/// A UDP datagram in an IP packet.
struct Datagram {
  Flow flow;
  uint16_t identification = 0;
  std::span<const uint8_t> udp;  ///< header and payload
};

bool is_ipv4_header_right(std::span<const uint8_t> header) {
  InternetChecksum checksum;
  checksum.add(header);
  return checksum.value() == 0;
}

std::optional<Datagram> parse_ipv4(std::span<const uint8_t> packet) {
  if (packet.size() < kIpv4HeaderBytes || packet[0] >> 4 != 4) return std::nullopt;
  const size_t header_bytes = size_t{packet[0] & 0xfU} * 4;
  const size_t total = load_be16(packet.data() + 2);
  if (header_bytes < kIpv4HeaderBytes || total < header_bytes || total > packet.size()) {
    return std::nullopt;
  }
  if ((load_be16(packet.data() + 6) & kFragmentBits) != 0) return std::nullopt;
  if (packet[9] != kUdpProtocol) return std::nullopt;
  if (!is_ipv4_header_right(packet.first(header_bytes))) return std::nullopt;
  Datagram datagram;
  datagram.flow.source = Gid::from_ipv4(packet.data() + 12);
  datagram.flow.destination = Gid::from_ipv4(packet.data() + 16);
  datagram.flow.traffic_class = packet[1];
  datagram.flow.hop_limit = packet[8];
  datagram.identification = load_be16(packet.data() + 4);
  datagram.udp = packet.subspan(header_bytes, total - header_bytes);
  return datagram;
}

std::optional<Datagram> parse_ipv6(std::span<const uint8_t> packet) {
  if (packet.size() < kIpv6HeaderBytes || packet[0] >> 4 != 6) return std::nullopt;
  if (packet[6] != kUdpProtocol) return std::nullopt;
  const size_t udp_bytes = load_be16(packet.data() + 4);
  if (udp_bytes > packet.size() - kIpv6HeaderBytes) return std::nullopt;
  const uint32_t first_word = load_be32(packet.data());
  Datagram datagram;
  datagram.flow.source = Gid::from_ipv6(packet.data() + 8);
  datagram.flow.destination = Gid::from_ipv6(packet.data() + 24);
  datagram.flow.traffic_class = static_cast<uint8_t>(first_word >> 20);
  datagram.flow.hop_limit = packet[7];
  datagram.flow.flow_label = first_word & kFlowLabelMask;
  datagram.udp = packet.subspan(kIpv6HeaderBytes, udp_bytes);
  return datagram;
}

std::optional<Datagram> parse_ip(std::span<const uint8_t> frame) {
  if (frame.size() < kEthernetHeaderBytes) return std::nullopt;
  const auto packet = frame.subspan(kEthernetHeaderBytes);
  switch (load_be16(frame.data() + kEtherTypeAt)) {
    case kEtherTypeIpv4:
      return parse_ipv4(packet);
    case kEtherTypeIpv6:
      return parse_ipv6(packet);
    default:
      return std::nullopt;
  }
}

/// 0: what the kernel says of the segments cannot be.
size_t segment_size_of(const VnetHeader& vnet, size_t payload_bytes) {
  constexpr uint8_t kEcnBit = 0x80;
  switch (vnet.gso_type & ~kEcnBit) {
    case VnetHeader::kNoSegments:
      return payload_bytes;
    case VnetHeader::kUdpSegments:
      return vnet.segment_size >= kMinRocePacketBytes ? vnet.segment_size : 0;
    default:
      return 0;
  }
}

/// The checksum field for the kernel to complete: the sum of the pseudo header, not inverted.
uint16_t pseudo_header_sum(const Flow& flow, size_t udp_bytes) {
  InternetChecksum checksum;
  if (is_ipv4(flow)) {
    checksum.add({flow.source.ipv4(), 4});
    checksum.add({flow.destination.ipv4(), 4});
  } else {
    checksum.add(flow.source.bytes);
    checksum.add(flow.destination.bytes);
  }
  checksum.add_word(kUdpProtocol);
  checksum.add_word(static_cast<uint32_t>(udp_bytes));
  return static_cast<uint16_t>(~checksum.value());
}

size_t write_ip_header(uint8_t* out, const Flow& flow, size_t udp_bytes) {
  VariantFields fields;
  fields.traffic_class = flow.traffic_class;
  fields.hop_limit = flow.hop_limit == 0 ? kDefaultTtl : flow.hop_limit;
  fields.flow_label = 0;
  if (!is_ipv4(flow)) return write_ipv6_header(out, flow, fields, udp_bytes);
  write_ipv4_header(out, flow, fields, 0, udp_bytes, 0);
  store_be16(out + kIpv4ChecksumAt, ipv4_checksum(out));
  return kIpv4HeaderBytes;
}

}  // namespace

std::optional<ReceivedFrame> parse_frame(std::span<const uint8_t> frame, const VnetHeader& vnet) {
  const auto datagram = parse_ip(frame);
  if (!datagram || datagram->udp.size() < kUdpHeaderBytes) return std::nullopt;
  const uint8_t* const udp = datagram->udp.data();
  const size_t udp_bytes = load_be16(udp + 4);
  if (load_be16(udp + 2) != kRoceUdpPort) return std::nullopt;
  if (udp_bytes <= kUdpHeaderBytes || udp_bytes > datagram->udp.size()) return std::nullopt;
  ReceivedFrame received;
  received.packets.flow = datagram->flow;
  received.packets.flow.source_port = load_be16(udp);
  received.packets.bytes = datagram->udp.subspan(kUdpHeaderBytes, udp_bytes - kUdpHeaderBytes);
  received.packets.segment_size = segment_size_of(vnet, received.packets.bytes.size());
  received.ipv4_identification = datagram->identification;
  if (received.packets.segment_size == 0) return std::nullopt;
  return received;
}

size_t write_frame_headers(uint8_t* out, VnetHeader& vnet, const TxBatch::Message& message,
                           const MacAddress& to, const MacAddress& from) {
  const Flow& flow = message.flow;
  const size_t udp_bytes = kUdpHeaderBytes + message.size;
  std::ranges::copy(to, out);
  std::ranges::copy(from, out + to.size());
  store_be16(out + kEtherTypeAt, is_ipv4(flow) ? kEtherTypeIpv4 : kEtherTypeIpv6);
  const size_t udp_at =
      kEthernetHeaderBytes + write_ip_header(out + kEthernetHeaderBytes, flow, udp_bytes);
  const size_t size =
      udp_at + write_udp_header(out + udp_at, flow, udp_bytes, pseudo_header_sum(flow, udp_bytes));
  vnet = {};
  vnet.flags = VnetHeader::kNeedsChecksum;
  vnet.checksum_start = static_cast<uint16_t>(udp_at);
  vnet.checksum_at = kUdpChecksumAt;
  vnet.header_bytes = static_cast<uint16_t>(size);
  if (message.segments > 1) {
    vnet.gso_type = VnetHeader::kUdpSegments;
    vnet.segment_size = static_cast<uint16_t>(message.segment_size);
  }
  return size;
}

}  // namespace urxe
