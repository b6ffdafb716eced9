// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/rtnetlink.h"

#include <linux/if_addr.h>
#include <net/if.h>
#include <netlink/addr.h>
#include <netlink/msg.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <netlink/route/link/bridge.h>
#include <netlink/route/link/veth.h>
#include <netlink/route/nexthop.h>
#include <netlink/route/route.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>

#include "packet/host/clock.h"
#include "tools/lab/failure.h"

namespace urxe::lab {
namespace {

using Link = std::unique_ptr<rtnl_link, decltype(&rtnl_link_put)>;
using Address = std::unique_ptr<nl_addr, decltype(&nl_addr_put)>;
using InterfaceAddress = std::unique_ptr<rtnl_addr, decltype(&rtnl_addr_put)>;

using Message = std::unique_ptr<nl_msg, decltype(&nlmsg_free)>;
using Route = std::unique_ptr<rtnl_route, decltype(&rtnl_route_put)>;

/// The kernel reports a link up within milliseconds; a machine that is out of breath may need more.
constexpr Duration kPatience = seconds(60);
constexpr timespec kPause{0, 2'000'000};
constexpr uint8_t kOperUp = 6;  // IF_OPER_UP of linux/if.h, which net/if.h excludes

Done done_or(const std::string& what, int code) {
  if (code >= 0) return {};
  return failure(what + ": " + nl_geterror(code));
}

/// Unlike if_nametoindex(3), it needs no further descriptor.
Expected<int, std::string> index_of(nl_sock* socket, const std::string& interface) {
  rtnl_link* found = nullptr;
  const int code = rtnl_link_get_kernel(socket, 0, interface.c_str(), &found);
  if (code < 0) return failure("cannot find the interface " + interface + ": " + nl_geterror(code));
  const Link link(found, rtnl_link_put);
  return rtnl_link_get_ifindex(link.get());
}

Link new_link() {
  return {rtnl_link_alloc(), rtnl_link_put};
}

}  // namespace

Expected<Rtnetlink, std::string> Rtnetlink::open() {
  Socket socket(nl_socket_alloc(), nl_socket_free);
  if (!socket) return failure("rtnetlink: no memory");
  if (const int code = nl_connect(socket.get(), NETLINK_ROUTE); code < 0) {
    // libnl has no word of its own for a lack of descriptors.
    return errno == EMFILE || errno == ENFILE
               ? system_failure("rtnetlink")
               : failure(std::string("rtnetlink: ") + nl_geterror(code));
  }
  return Rtnetlink(std::move(socket));
}

Done Rtnetlink::add_bridge(const std::string& name) {
  return done_or("cannot make a bridge", rtnl_link_bridge_add(socket_.get(), name.c_str()));
}

Done Rtnetlink::add_pair(const std::string& name, const std::string& peer, pid_t pid) {
  return done_or(
      "cannot make a veth pair",
      rtnl_link_veth_add(socket_.get(), name.c_str(), peer.c_str(), pid == 0 ? getpid() : pid));
}

Done Rtnetlink::put_into(const std::string& bridge, const std::string& port) {
  const auto master = index_of(socket_.get(), bridge);
  if (!master) return Unexpected<std::string>(master.error());
  const auto slave = index_of(socket_.get(), port);
  if (!slave) return Unexpected<std::string>(slave.error());
  return done_or("cannot put an interface into a bridge",
                 rtnl_link_enslave_ifindex(socket_.get(), *master, *slave));
}

Done Rtnetlink::add_address(const std::string& interface, const std::string& address) {
  const auto index = index_of(socket_.get(), interface);
  if (!index) return Unexpected<std::string>(index.error());
  nl_addr* parsed = nullptr;
  if (const int code = nl_addr_parse(address.c_str(), AF_UNSPEC, &parsed); code < 0) {
    return done_or(address, code);
  }
  const Address local(parsed, nl_addr_put);
  const InterfaceAddress added(rtnl_addr_alloc(), rtnl_addr_put);
  rtnl_addr_set_ifindex(added.get(), *index);
  rtnl_addr_set_local(added.get(), local.get());
  // No other node has it: there is no need to wait for the detection of duplicates.
  if (nl_addr_get_family(local.get()) == AF_INET6) rtnl_addr_set_flags(added.get(), IFA_F_NODAD);
  return done_or("cannot give the address " + address,
                 rtnl_addr_add(socket_.get(), added.get(), 0));
}

Done Rtnetlink::add_multicast_route(const std::string& interface) {
  const auto index = index_of(socket_.get(), interface);
  if (!index) return Unexpected<std::string>(index.error());
  nl_addr* parsed = nullptr;
  if (const int code = nl_addr_parse("224.0.0.0/4", AF_INET, &parsed); code < 0) {
    return done_or("224.0.0.0/4", code);
  }
  const Address groups(parsed, nl_addr_put);
  const Route route(rtnl_route_alloc(), rtnl_route_put);
  rtnl_nexthop* const hop = rtnl_route_nh_alloc();
  rtnl_route_nh_set_ifindex(hop, *index);
  rtnl_route_add_nexthop(route.get(), hop);  // which belongs to the route now
  rtnl_route_set_dst(route.get(), groups.get());
  rtnl_route_set_scope(route.get(), RT_SCOPE_LINK);
  return done_or("cannot add a route for multicast groups",
                 rtnl_route_add(socket_.get(), route.get(), 0));
}

Done Rtnetlink::limit_batches(const std::string& interface, unsigned bytes) {
  const auto index = index_of(socket_.get(), interface);
  if (!index) return Unexpected<std::string>(index.error());
  // libnl has no function for this attribute.
  const Message message(nlmsg_alloc_simple(RTM_NEWLINK, 0), nlmsg_free);
  ifinfomsg link{};
  link.ifi_index = *index;
  if (!message || nlmsg_append(message.get(), &link, sizeof link, NLMSG_ALIGNTO) < 0 ||
      nla_put_u32(message.get(), IFLA_GSO_MAX_SIZE, bytes) < 0) {
    return failure("rtnetlink: no memory");
  }
  if (const int code = nl_send_auto(socket_.get(), message.get()); code < 0) {
    return done_or(interface, code);
  }
  return done_or("cannot limit the batches of the interface " + interface,
                 nl_wait_for_ack(socket_.get()));
}

Done Rtnetlink::set_up(const std::string& interface, unsigned mtu) {
  const auto index = index_of(socket_.get(), interface);
  if (!index) return Unexpected<std::string>(index.error());
  const Link which = new_link();
  const Link change = new_link();
  rtnl_link_set_name(which.get(), interface.c_str());
  rtnl_link_set_ifindex(which.get(), *index);
  rtnl_link_set_flags(change.get(), IFF_UP);
  if (mtu != 0) rtnl_link_set_mtu(change.get(), mtu);
  return done_or("cannot set the interface " + interface + " up",
                 rtnl_link_change(socket_.get(), which.get(), change.get(), 0));
}

Done Rtnetlink::wait_until_up(const std::string& interface) {
  const Instant deadline = clock_now() + kPatience;
  while (true) {
    rtnl_link* found = nullptr;
    const int code = rtnl_link_get_kernel(socket_.get(), 0, interface.c_str(), &found);
    const Link link(found, rtnl_link_put);
    if (code < 0) return done_or(interface, code);
    // The kernel answers when its bridges and addresses have followed the change.
    if (rtnl_link_get_operstate(link.get()) == kOperUp) return {};
    if (clock_now() >= deadline) return failure("the interface " + interface + " does not come up");
    nanosleep(&kPause, nullptr);
  }
}

}  // namespace urxe::lab
