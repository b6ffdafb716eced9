// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/link/membership.h"

#include <array>
#include <cstring>

#include "packet/engine/dpdk/link/neighbour_discovery.h"
#include "packet/wire/ip/ip_header.h"

namespace urxe {
namespace {

constexpr uint8_t kIgmpProtocol = 2;
constexpr uint8_t kIgmpQuery = 0x11;
constexpr uint8_t kIgmpReport = 0x16;
constexpr uint8_t kIgmpLeave = 0x17;
constexpr size_t kIgmpBytes = 8;
constexpr uint8_t kMldQuery = 130;
constexpr uint8_t kMldReport = 131;
constexpr uint8_t kMldDone = 132;
constexpr size_t kMldBytes = 24;
constexpr uint8_t kRouterAlertOption[4] = {0x94, 4, 0, 0};
constexpr uint8_t kWordsWithOption = 0x46;
constexpr size_t kHeaderWithOption = kIpv4HeaderBytes + sizeof kRouterAlertOption;
constexpr uint8_t kUnspecified[4] = {};
constexpr uint8_t kAllRouters[4] = {224, 0, 0, 2};

ControlFrame make_igmp(uint8_t type, const Gid& group, const Gid& destination, const Gid& source,
                       const MacAddress& from) {
  ControlFrame frame;
  uint8_t* const ip =
      frame.bytes.data() +
      write_ethernet(frame.bytes.data(), group_mac(destination), from, kEtherTypeIpv4);
  Flow flow{.source = source, .destination = destination};
  if (!source.is_ipv4()) flow.source = Gid::from_ipv4(kUnspecified);
  const VariantFields fields{.traffic_class = 0xc0, .hop_limit = 1, .flow_label = 0};
  write_ipv4_header(ip, flow, fields, 0, sizeof kRouterAlertOption + kIgmpBytes, 0);
  ip[0] = kWordsWithOption;
  ip[9] = kIgmpProtocol;
  std::memcpy(ip + kIpv4HeaderBytes, kRouterAlertOption, sizeof kRouterAlertOption);
  InternetChecksum header;
  header.add({ip, kHeaderWithOption});
  store_be16(ip + kIpv4ChecksumAt, header.value());
  uint8_t* const igmp = ip + kHeaderWithOption;
  igmp[0] = type;
  std::memcpy(igmp + 4, group.ipv4(), 4);
  InternetChecksum checksum;
  checksum.add({igmp, kIgmpBytes});
  store_be16(igmp + 2, checksum.value());
  frame.size = kEthernetHeaderBytes + kHeaderWithOption + kIgmpBytes;
  return frame;
}

ControlFrame make_mld(uint8_t type, const Gid& group, const Gid& destination, const Gid& source,
                      const MacAddress& from) {
  std::array<uint8_t, kMldBytes> bytes{};
  bytes[0] = type;
  std::ranges::copy(group.bytes, bytes.begin() + 8);
  return make_icmpv6({source, destination, 1, true, bytes}, group_mac(destination), from);
}

Gid all_routers_ipv6() {
  Gid group = all_nodes_group();
  group.bytes[15] = 2;
  return group;
}

}  // namespace

std::optional<MembershipQuery> parse_igmp_query(std::span<const uint8_t> frame) {
  if (ether_type(frame) != kEtherTypeIpv4) return std::nullopt;
  const auto packet = frame.subspan(kEthernetHeaderBytes);
  if (packet.size() < kIpv4HeaderBytes || packet[0] >> 4 != 4 || packet[9] != kIgmpProtocol) {
    return std::nullopt;
  }
  const size_t header = size_t{packet[0] & 0xfU} * 4;
  const size_t total = load_be16(packet.data() + 2);
  if (header < kIpv4HeaderBytes || total > packet.size() || total < header + kIgmpBytes) {
    return std::nullopt;
  }
  const auto igmp = packet.subspan(header, total - header);
  InternetChecksum checksum;
  checksum.add(igmp);
  if (igmp[0] != kIgmpQuery || checksum.value() != 0) return std::nullopt;
  MembershipQuery query{.is_ipv4 = true, .group = {}};
  if (std::memcmp(igmp.data() + 4, kUnspecified, 4) != 0) {
    query.group = Gid::from_ipv4(igmp.data() + 4);
  }
  return query;
}

std::optional<MembershipQuery> parse_mld_query(const Icmpv6Message& message) {
  if (message.bytes.size() < kMldBytes || message.bytes[0] != kMldQuery) return std::nullopt;
  if (message.hop_limit != 1 || !message.source.is_ipv6_link_local()) return std::nullopt;
  return MembershipQuery{false, Gid::from_ipv6(message.bytes.data() + 8)};
}

ControlFrame make_membership_report(const Gid& group, const Gid& source, const MacAddress& from) {
  return group.is_ipv4() ? make_igmp(kIgmpReport, group, group, source, from)
                         : make_mld(kMldReport, group, group, source, from);
}

ControlFrame make_membership_leave(const Gid& group, const Gid& source, const MacAddress& from) {
  return group.is_ipv4() ? make_igmp(kIgmpLeave, group, Gid::from_ipv4(kAllRouters), source, from)
                         : make_mld(kMldDone, group, all_routers_ipv6(), source, from);
}

}  // namespace urxe
