// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/route_query.h"

#include <linux/rtnetlink.h>
#include <net/if.h>
#include <sys/socket.h>

#include <cerrno>

#include "packet/host/netlink_request.h"

namespace urxe::cm {
namespace {

Expected<Route::Kind, Errno> kind_of(uint8_t type) {
  switch (type) {
    case RTN_UNICAST:
    case RTN_ANYCAST:
      return Route::Kind::kUnicast;
    case RTN_LOCAL:
      return Route::Kind::kLocal;
    case RTN_MULTICAST:
      return Route::Kind::kMulticast;
    // For IPv4 the kernel itself returns these errors instead of a route of such a type.
    case RTN_UNREACHABLE:
      return error(EHOSTUNREACH);
    case RTN_PROHIBIT:
      return error(EACCES);
    case RTN_BLACKHOLE:
      return error(EINVAL);
    default:
      return error(ENETUNREACH);
  }
}

std::optional<Gid> gateway_of(const NetlinkAnswer& answer) {
  if (const auto gateway = gid_of(answer.attribute(sizeof(rtmsg), RTA_GATEWAY))) return gateway;
  // A gateway of the other family: the family, then the address.
  const auto via = answer.attribute(sizeof(rtmsg), RTA_VIA);
  return via.size() > 2 ? gid_of(via.subspan(2)) : std::nullopt;
}

}  // namespace

Expected<Route, Errno> find_route(const Gid& destination, const std::optional<Gid>& source,
                                  uint32_t ifindex) {
  rtmsg question{};
  question.rtm_family = destination.is_ipv4() ? AF_INET : AF_INET6;
  question.rtm_dst_len = destination.is_ipv4() ? 32 : 128;
  NetlinkRequest request(RTM_GETROUTE, question);
  request.add(RTA_DST, destination);
  if (source && source->is_ipv4() == destination.is_ipv4()) request.add(RTA_SRC, *source);
  if (ifindex != 0) request.add(RTA_OIF, ifindex);
  const auto answer = request.ask();
  if (!answer) return error(answer.error().value);

  const auto kind = kind_of(answer->header<rtmsg>().rtm_type);
  if (!kind) return error(kind.error().value);
  Route route;
  route.kind = *kind;
  const auto interface = answer->attribute(sizeof(rtmsg), RTA_OIF);
  if (interface.size() != sizeof route.ifindex) return error(ENETUNREACH);
  std::memcpy(&route.ifindex, interface.data(), sizeof route.ifindex);
  route.source = gid_of(answer->attribute(sizeof(rtmsg), RTA_PREFSRC));
  route.gateway = gateway_of(*answer);
  return route;
}

bool has_neighbours(uint32_t ifindex) {
  ifinfomsg question{};
  question.ifi_family = AF_UNSPEC;
  question.ifi_index = static_cast<int>(ifindex);
  const auto answer = NetlinkRequest(RTM_GETLINK, question).ask();
  return answer && (answer->header<ifinfomsg>().ifi_flags & (IFF_NOARP | IFF_LOOPBACK)) == 0;
}

}  // namespace urxe::cm
