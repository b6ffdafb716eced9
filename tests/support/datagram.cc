// SPDX-License-Identifier: BSD-2-Clause
#include "tests/support/datagram.h"

#include <algorithm>

namespace urxe::test {
namespace {

using Bytes = std::span<const uint8_t>;

constexpr unsigned kUdp = 17;

unsigned be16(Bytes bytes, size_t at) {
  return bytes[at] * 256U + bytes[at + 1];
}

std::optional<Bytes> after(Bytes bytes, size_t count) {
  if (bytes.size() < count) return std::nullopt;
  return bytes.subspan(count);
}

std::optional<Bytes> strip_ethernet(Bytes bytes) {
  size_t type_at = 12;
  while (bytes.size() >= type_at + 2) {
    const unsigned type = be16(bytes, type_at);
    const bool vlan = type == 0x8100 || type == 0x88a8 || type == 0x9100;
    if (!vlan) return after(bytes, type_at + 2);
    type_at += 4;
  }
  return std::nullopt;
}

std::optional<Bytes> strip_link(const CapturedFrame& frame) {
  const Bytes bytes = frame.bytes;
  switch (frame.link_type) {
    case LinkType::kEthernet:
      return strip_ethernet(bytes);
    case LinkType::kNull:
    case LinkType::kLoop:
      return after(bytes, 4);
    case LinkType::kLinuxSll:
      return after(bytes, 16);
    case LinkType::kLinuxSll2:
      return after(bytes, 20);
    case LinkType::kRaw:
    case LinkType::kIpv4:
    case LinkType::kIpv6:
      return bytes;
  }
  return std::nullopt;
}

/// Cuts `datagram.ip` to the length the header gives; longer frames have link-layer padding.
void limit_ip(Datagram& datagram, size_t length) {
  datagram.cut = length > datagram.ip.size();
  datagram.ip = datagram.ip.first(std::min(length, datagram.ip.size()));
}

bool read_ipv4(Datagram& datagram) {
  const Bytes ip = datagram.ip;
  if (ip.size() < 20 || ip[9] != kUdp) return false;
  datagram.udp_offset = (ip[0] & 15U) * 4U;
  datagram.traffic_class = ip[1];
  datagram.identification = static_cast<uint16_t>(be16(ip, 4));
  datagram.dont_fragment = (ip[6] & 0x40) != 0;
  datagram.fragment = (be16(ip, 6) & 0x3fff) != 0;
  datagram.hop_limit = ip[8];
  datagram.source = ip.subspan(12, 4);
  datagram.destination = ip.subspan(16, 4);
  limit_ip(datagram, be16(ip, 2));
  return true;
}

bool read_ipv6(Datagram& datagram) {
  const Bytes ip = datagram.ip;
  if (ip.size() < 40 || ip[6] != kUdp) return false;
  datagram.ipv6 = true;
  datagram.udp_offset = 40;
  datagram.traffic_class = static_cast<uint8_t>(be16(ip, 0) >> 4);
  datagram.hop_limit = ip[7];
  datagram.flow_label = (ip[1] & 15U) << 16 | be16(ip, 2);
  datagram.source = ip.subspan(8, 16);
  datagram.destination = ip.subspan(24, 16);
  limit_ip(datagram, 40 + be16(ip, 4));
  return true;
}

}  // namespace

std::optional<Datagram> find_datagram(const CapturedFrame& frame) {
  const std::optional<Bytes> ip = strip_link(frame);
  if (!ip || ip->empty()) return std::nullopt;
  Datagram datagram;
  datagram.ip = *ip;
  const unsigned version = (*ip)[0] >> 4;
  if (version == 4 ? !read_ipv4(datagram) : version != 6 || !read_ipv6(datagram)) {
    return std::nullopt;
  }
  if (datagram.fragment) return datagram;
  if (datagram.ip.size() < datagram.udp_offset + 8) return std::nullopt;
  const Bytes udp = datagram.ip.subspan(datagram.udp_offset);
  datagram.source_port = static_cast<uint16_t>(be16(udp, 0));
  datagram.destination_port = static_cast<uint16_t>(be16(udp, 2));
  datagram.payload = udp.subspan(8);
  return datagram;
}

}  // namespace urxe::test
