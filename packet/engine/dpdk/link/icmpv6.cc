// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/link/icmpv6.h"

#include <cstring>

#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

constexpr size_t kLeastMessage = 8;
constexpr size_t kChecksumAt = 2;
constexpr uint8_t kHopByHop = 0;
/// ICMPv6 follows; eight bytes; router alert for MLD; pad.
constexpr uint8_t kRouterAlert[8] = {kIcmpv6Protocol, 0, 5, 2, 0, 0, 1, 0};

uint16_t checksum_of(const Gid& source, const Gid& destination, std::span<const uint8_t> message) {
  InternetChecksum checksum;
  checksum.add(source.bytes);
  checksum.add(destination.bytes);
  checksum.add_word(static_cast<uint32_t>(message.size()));
  checksum.add_word(kIcmpv6Protocol);
  checksum.add(message);
  return checksum.value();
}

}  // namespace

std::optional<Icmpv6Message> parse_icmpv6(std::span<const uint8_t> frame) {
  if (ether_type(frame) != kEtherTypeIpv6) return std::nullopt;
  const auto packet = frame.subspan(kEthernetHeaderBytes);
  if (packet.size() < kIpv6HeaderBytes || packet[0] >> 4 != 6) return std::nullopt;
  const size_t size = load_be16(packet.data() + 4);
  if (size > packet.size() - kIpv6HeaderBytes) return std::nullopt;
  auto rest = packet.subspan(kIpv6HeaderBytes, size);
  uint8_t protocol = packet[6];
  Icmpv6Message message;
  if (protocol == kHopByHop) {
    if (rest.size() < 8) return std::nullopt;
    const size_t header = (size_t{rest[1]} + 1) * 8;
    if (header > rest.size()) return std::nullopt;
    protocol = rest[0];
    rest = rest.subspan(header);
    message.has_router_alert = true;
  }
  if (protocol != kIcmpv6Protocol || rest.size() < kLeastMessage) return std::nullopt;
  message.source = Gid::from_ipv6(packet.data() + 8);
  message.destination = Gid::from_ipv6(packet.data() + 24);
  message.hop_limit = packet[7];
  message.bytes = rest;
  if (checksum_of(message.source, message.destination, rest) != 0) return std::nullopt;
  return message;
}

ControlFrame make_icmpv6(const Icmpv6Message& message, const MacAddress& to,
                         const MacAddress& from) {
  const size_t options = message.has_router_alert ? sizeof kRouterAlert : 0;
  ControlFrame frame;
  uint8_t* out = frame.bytes.data() + write_ethernet(frame.bytes.data(), to, from, kEtherTypeIpv6);
  const Flow flow{.source = message.source, .destination = message.destination};
  const VariantFields fields{.traffic_class = 0, .hop_limit = message.hop_limit, .flow_label = 0};
  uint8_t* const header = out;
  out += write_ipv6_header(out, flow, fields, options + message.bytes.size());
  header[6] = message.has_router_alert ? kHopByHop : kIcmpv6Protocol;
  std::memcpy(out, kRouterAlert, options);
  out += options;
  std::memcpy(out, message.bytes.data(), message.bytes.size());
  store_be16(out + kChecksumAt, 0);
  store_be16(out + kChecksumAt,
             checksum_of(message.source, message.destination, {out, message.bytes.size()}));
  frame.size = static_cast<size_t>(out - frame.bytes.data()) + message.bytes.size();
  return frame;
}

}  // namespace urxe
