// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/gid_source.h"

#include <linux/if_addr.h>
#include <net/if.h>
#include <netlink/netlink.h>
#include <netlink/route/addr.h>
#include <netlink/route/link.h>
#include <sys/socket.h>
#include <sys/time.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>

namespace urxe {
namespace {

constexpr time_t kNetlinkPatience = 2;  ///< seconds; the kernel answers at once

using Socket = std::unique_ptr<nl_sock, decltype(&nl_socket_free)>;
using Cache = std::unique_ptr<nl_cache, decltype(&nl_cache_free)>;

Unexpected<std::string> netlink_error(const char* what, int code) {
  return Unexpected<std::string>(std::string(what) + ": " + nl_geterror(code));
}

std::optional<Gid> gid_of(rtnl_addr* address) {
  nl_addr* local = rtnl_addr_get_local(address);
  if (local == nullptr) return std::nullopt;
  const auto* bytes = static_cast<const uint8_t*>(nl_addr_get_binary_addr(local));
  if (rtnl_addr_get_family(address) == AF_INET && nl_addr_get_len(local) == 4) {
    return Gid::from_ipv4(bytes);
  }
  if (rtnl_addr_get_family(address) == AF_INET6 && nl_addr_get_len(local) == 16) {
    return Gid::from_ipv6(bytes);
  }
  return std::nullopt;
}

/// An optimistic address (RFC 4429) may be used while it is tentative. The link-local one has its
/// place at once, as on soft-RoCE: the indexes of the others must not change when it is confirmed.
bool belongs_in_table(const Gid& gid, unsigned flags) {
  if ((flags & IFA_F_DADFAILED) != 0) return false;
  return (flags & IFA_F_TENTATIVE) == 0 || (flags & IFA_F_OPTIMISTIC) != 0 ||
         gid.is_ipv6_link_local();
}

std::map<uint32_t, std::vector<InterfaceAddress>> group_addresses(nl_cache* cache) {
  std::map<uint32_t, std::vector<InterfaceAddress>> groups;
  for (nl_object* at = nl_cache_get_first(cache); at != nullptr; at = nl_cache_get_next(at)) {
    auto* address = reinterpret_cast<rtnl_addr*>(at);
    if (auto gid = gid_of(address)) {
      groups[static_cast<uint32_t>(rtnl_addr_get_ifindex(address))].push_back(
          {*gid, belongs_in_table(*gid, rtnl_addr_get_flags(address))});
    }
  }
  return groups;
}

std::optional<std::array<uint8_t, 6>> mac_of(rtnl_link* link) {
  nl_addr* address = rtnl_link_get_addr(link);
  std::array<uint8_t, 6> mac{};
  if (address == nullptr || nl_addr_get_len(address) != mac.size()) return std::nullopt;
  std::memcpy(mac.data(), nl_addr_get_binary_addr(address), mac.size());
  if (std::all_of(mac.begin(), mac.end(), [](uint8_t byte) { return byte == 0; })) {
    return std::nullopt;
  }
  return mac;
}

Interface describe(rtnl_link* link) {
  Interface interface;
  unsigned flags = rtnl_link_get_flags(link);
  interface.name = rtnl_link_get_name(link);
  interface.ifindex = static_cast<uint32_t>(rtnl_link_get_ifindex(link));
  interface.mtu = rtnl_link_get_mtu(link);
  interface.up = (flags & IFF_UP) != 0;
  interface.link_up = (flags & IFF_RUNNING) != 0;
  interface.is_loopback = (flags & IFF_LOOPBACK) != 0;
  interface.is_virtual = interface.is_loopback || rtnl_link_get_type(link) != nullptr;
  interface.mac = mac_of(link);
  return interface;
}

/// An interface in a VRF has a master, too, but receives its packets itself.
bool is_port(nl_cache* links, rtnl_link* link) {
  const int master_index = rtnl_link_get_master(link);
  if (master_index == 0) return false;
  rtnl_link* const master = rtnl_link_get(links, master_index);
  if (master == nullptr) return true;
  const char* const kind = rtnl_link_get_type(master);
  const bool is_vrf = kind != nullptr && std::strcmp(kind, "vrf") == 0;
  rtnl_link_put(master);
  return !is_vrf;
}

}  // namespace

std::vector<Gid> order_gids(const std::vector<InterfaceAddress>& addresses) {
  std::vector<Gid> gids;
  auto add = [&gids](const Gid& gid) {
    if (std::find(gids.begin(), gids.end(), gid) == gids.end()) gids.push_back(gid);
  };
  auto default_gid = std::find_if(addresses.begin(), addresses.end(), [](const auto& address) {
    return address.usable && address.gid.is_ipv6_link_local();
  });
  if (default_gid != addresses.end()) add(default_gid->gid);
  for (bool ipv4 : {true, false}) {
    for (const InterfaceAddress& address : addresses) {
      if (address.usable && address.gid.is_ipv4() == ipv4) add(address.gid);
    }
  }
  return gids;
}

std::vector<Gid> merge_gids(std::vector<Gid> old, const std::vector<Gid>& now, size_t length) {
  auto has = [](const std::vector<Gid>& gids, const Gid& gid) {
    return std::find(gids.begin(), gids.end(), gid) != gids.end();
  };
  std::vector<Gid> merged = std::move(old);
  for (Gid& gid : merged) {
    if (!has(now, gid)) gid = Gid{};
  }
  for (const Gid& gid : now) {
    if (has(merged, gid)) continue;
    auto free = std::find(merged.begin(), merged.end(), Gid{});
    if (free != merged.end()) {
      *free = gid;
    } else if (merged.size() < length) {
      merged.push_back(gid);
    }
  }
  while (!merged.empty() && merged.back().is_zero()) merged.pop_back();
  return merged;
}

Expected<std::vector<Interface>, std::string> list_interfaces() {
  Socket socket(nl_socket_alloc(), nl_socket_free);
  if (!socket) return Unexpected<std::string>("out of memory");
  if (int code = nl_connect(socket.get(), NETLINK_ROUTE); code < 0) {
    return netlink_error("cannot open a route netlink socket", code);
  }
  // libnl waits for the answer to a request even if it could not be sent.
  const timeval patience{kNetlinkPatience, 0};
  setsockopt(nl_socket_get_fd(socket.get()), SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
  nl_cache* links_raw = nullptr;
  if (int code = rtnl_link_alloc_cache(socket.get(), AF_UNSPEC, &links_raw); code < 0) {
    return netlink_error("cannot list the network interfaces", code);
  }
  Cache links(links_raw, nl_cache_free);
  nl_cache* addresses_raw = nullptr;
  if (int code = rtnl_addr_alloc_cache(socket.get(), &addresses_raw); code < 0) {
    return netlink_error("cannot list the network addresses", code);
  }
  Cache addresses(addresses_raw, nl_cache_free);

  auto groups = group_addresses(addresses.get());
  std::vector<Interface> interfaces;
  for (nl_object* at = nl_cache_get_first(links.get()); at != nullptr; at = nl_cache_get_next(at)) {
    auto* const link = reinterpret_cast<rtnl_link*>(at);
    interfaces.push_back(describe(link));
    interfaces.back().is_port = is_port(links.get(), link);
    interfaces.back().gids = order_gids(groups[interfaces.back().ifindex]);
  }
  std::sort(interfaces.begin(), interfaces.end(),
            [](const Interface& a, const Interface& b) { return a.ifindex < b.ifindex; });
  return interfaces;
}

}  // namespace urxe
