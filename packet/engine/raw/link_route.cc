// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/link_route.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <exception>
#include <optional>
#include <utility>

#include "packet/host/netlink_request.h"

namespace urxe {
namespace {

/// The bits of a traffic class that choose among routes.
constexpr uint8_t kIpv4RoutingTos = 0x1c;
constexpr uint8_t kIpv6RoutingTos = 0xfc;
constexpr uint16_t kConfirmedStates = NUD_REACHABLE | NUD_NOARP | NUD_PERMANENT;
constexpr uint16_t kKnownStates = kConfirmedStates | NUD_STALE | NUD_DELAY | NUD_PROBE;

// Rules may ask for the protocol and the port, too.
constexpr std::array<uint8_t, 1> kUdp = {IPPROTO_UDP};
constexpr std::array<uint8_t, 2> kPort = {kRoceUdpPort >> 8, kRoceUdpPort & 0xff};

/// A number in an attribute; 0: there is none.
uint32_t number_in(std::span<const uint8_t> attribute) {
  uint32_t number = 0;
  if (attribute.size() == sizeof number) std::memcpy(&number, attribute.data(), sizeof number);
  return number;
}

bool copy_mac(std::span<const uint8_t> attribute, MacAddress& to) {
  if (attribute.size() != to.size()) return false;
  std::ranges::copy(attribute, to.begin());
  return true;
}

rtmsg route_question(const Flow& flow) {
  rtmsg question{};
  const bool ipv4 = flow.destination.is_ipv4();
  question.rtm_family = ipv4 ? AF_INET : AF_INET6;
  question.rtm_dst_len = ipv4 ? 32 : 128;
  question.rtm_src_len = question.rtm_dst_len;
  question.rtm_tos = flow.traffic_class & (ipv4 ? kIpv4RoutingTos : kIpv6RoutingTos);
  return question;
}

/// Nullopt: packets by this route are not plain frames.
std::optional<Gid> next_hop_of(const NetlinkAnswer& route, const Gid& destination) {
  constexpr size_t kHeader = sizeof(rtmsg);
  if (!route.attribute(kHeader, RTA_ENCAP).empty()) return std::nullopt;
  if (const auto gateway = gid_of(route.attribute(kHeader, RTA_GATEWAY))) return gateway;
  // A gateway of the other family: the family, then the address.
  const auto via = route.attribute(kHeader, RTA_VIA);
  if (via.size() > 2) return gid_of(via.subspan(2));
  return destination;
}

}  // namespace

Expected<LinkRouteQuery, Errno> LinkRouteQuery::open(uint32_t ifindex) {
  auto fd = open_netlink();
  if (!fd) return error(fd.error().value);
  return LinkRouteQuery(std::move(*fd), ifindex);
}

LinkRoute LinkRouteQuery::find(const Flow& flow) const noexcept {
  try {
    return ask(flow);
  } catch (const std::exception&) {  // no memory: UDP does without
    return {};
  }
}

LinkRoute LinkRouteQuery::ask(const Flow& flow) const {
  if (flow.destination.is_multicast()) return {};
  NetlinkRequest request(RTM_GETROUTE, route_question(flow));
  request.add(RTA_DST, flow.destination);
  request.add(RTA_SRC, flow.source);
  request.add(RTA_IP_PROTO, kUdp);
  request.add(RTA_DPORT, kPort);
  // Without its interface a link-local address says nothing.
  if (flow.destination.is_ipv6_link_local()) request.add(RTA_OIF, ifindex_);
  const auto route = request.ask(fd_.get());
  if (!route || route->header<rtmsg>().rtm_type != RTN_UNICAST) return {};
  if (number_in(route->attribute(sizeof(rtmsg), RTA_OIF)) != ifindex_) return {};
  const auto next_hop = next_hop_of(*route, flow.destination);
  LinkRoute found;
  if (!next_hop || !ask_link(found)) return {};
  const auto metrics = route->attribute(sizeof(rtmsg), RTA_METRICS);
  if (const uint32_t mtu = number_in(find_attribute(metrics, RTAX_MTU)); mtu != 0) {
    found.mtu = std::min(found.mtu, mtu);
  }
  ask_neighbour(*next_hop, found);
  return found;
}

bool LinkRouteQuery::ask_link(LinkRoute& route) const {
  ifinfomsg question{};
  question.ifi_family = AF_UNSPEC;
  question.ifi_index = static_cast<int>(ifindex_);
  const auto link = NetlinkRequest(RTM_GETLINK, question).ask(fd_.get());
  if (!link || (link->header<ifinfomsg>().ifi_flags & IFF_UP) == 0) return false;
  route.mtu = number_in(link->attribute(sizeof(ifinfomsg), IFLA_MTU));
  return route.mtu != 0 && copy_mac(link->attribute(sizeof(ifinfomsg), IFLA_ADDRESS), route.from);
}

void LinkRouteQuery::ask_neighbour(const Gid& next_hop, LinkRoute& route) const {
  route.kind = LinkRoute::Kind::kUnresolved;
  ndmsg question{};
  question.ndm_family = next_hop.is_ipv4() ? AF_INET : AF_INET6;
  question.ndm_ifindex = static_cast<int>(ifindex_);
  NetlinkRequest request(RTM_GETNEIGH, question);
  request.add(NDA_DST, next_hop);
  const auto neighbour = request.ask(fd_.get());
  if (!neighbour) return;
  const uint16_t state = neighbour->header<ndmsg>().ndm_state;
  if ((state & kKnownStates) == 0) return;
  if (!copy_mac(neighbour->attribute(sizeof(ndmsg), NDA_LLADDR), route.to)) return;
  route.kind = LinkRoute::Kind::kFrames;
  route.confirmed = (state & kConfirmedStates) != 0;
}

}  // namespace urxe
