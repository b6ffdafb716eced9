// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/kernel_sockets.h"

#include <ifaddrs.h>
#include <linux/filter.h>
#include <net/if.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <bit>
#include <cerrno>
#include <cstring>
#include <utility>

#include "packet/host/socket_address.h"
#include "packet/wire/roce_packet.h"

namespace urxe {
namespace {

FileDescriptor open_socket(int family) {
  return FileDescriptor(socket(family, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

void drop_everything(int fd) {
  sock_filter drop[] = {BPF_STMT(BPF_RET | BPF_K, 0)};
  const sock_fprog program{1, drop};
  setsockopt(fd, SOL_SOCKET, SO_ATTACH_FILTER, &program, sizeof program);
}

template <class Sockaddr>
Sockaddr view(const sockaddr* address) {
  Sockaddr copy{};
  std::memcpy(&copy, address, sizeof copy);
  return copy;
}

/// The address, or mask, in a sockaddr.
std::optional<Gid> gid_of_sockaddr(const sockaddr* address) {
  if (address == nullptr) return std::nullopt;
  if (address->sa_family == AF_INET) {
    const auto ipv4 = view<sockaddr_in>(address);
    uint8_t bytes[4];
    std::memcpy(bytes, &ipv4.sin_addr, 4);
    return Gid::from_ipv4(bytes);
  }
  if (address->sa_family != AF_INET6) return std::nullopt;
  return Gid::from_ipv6(view<sockaddr_in6>(address).sin6_addr.s6_addr);
}

uint8_t prefix_bits(const Gid& mask) {
  int bits = 0;
  // The prefix of an IPv4-mapped mask is there in full.
  const size_t first = mask.is_ipv4() ? 12 : 0;
  for (size_t i = first; i < mask.bytes.size(); ++i) bits += std::popcount(mask.bytes[i]);
  return static_cast<uint8_t>(bits + static_cast<int>(first) * 8);
}

}  // namespace

std::optional<IpNetwork> find_network(const Gid& address, uint32_t interface_index) {
  char name[IF_NAMESIZE] = {};
  ifaddrs* list = nullptr;
  if (if_indextoname(interface_index, name) == nullptr || getifaddrs(&list) != 0) {
    return std::nullopt;
  }
  std::optional<IpNetwork> found;
  for (const ifaddrs* entry = list; entry != nullptr; entry = entry->ifa_next) {
    if (std::strcmp(entry->ifa_name, name) != 0) continue;
    if (gid_of_sockaddr(entry->ifa_addr) != address) continue;
    const auto mask = gid_of_sockaddr(entry->ifa_netmask);
    found = IpNetwork{address, mask ? prefix_bits(*mask) : uint8_t{128}};
  }
  freeifaddrs(list);
  return found;
}

void KernelSockets::silence(const Gid& address) {
  const SocketAddress name(address, kRoceUdpPort, interface_index_);
  FileDescriptor fd = open_socket(name.family());
  if (!fd) return;
  drop_everything(fd.get());
  if (bind(fd.get(), name.get(), name.size()) == 0) silent_.push_back({address, std::move(fd)});
}

void KernelSockets::stop_silencing(const Gid& address) {
  std::erase_if(silent_, [&](const Silent& silent) { return silent.address == address; });
}

bool KernelSockets::join(const Gid& group) {
  FileDescriptor fd = open_socket(group.is_ipv4() ? AF_INET : AF_INET6);
  if (!fd) return false;
  int result = -1;
  if (group.is_ipv4()) {
    ip_mreqn request{};
    std::memcpy(&request.imr_multiaddr, group.ipv4(), 4);
    request.imr_ifindex = static_cast<int>(interface_index_);
    result = setsockopt(fd.get(), IPPROTO_IP, IP_ADD_MEMBERSHIP, &request, sizeof request);
  } else {
    ipv6_mreq request{};
    std::memcpy(&request.ipv6mr_multiaddr, group.bytes.data(), group.bytes.size());
    request.ipv6mr_interface = interface_index_;
    result = setsockopt(fd.get(), IPPROTO_IPV6, IPV6_ADD_MEMBERSHIP, &request, sizeof request);
  }
  if (result != 0) return false;
  members_.push_back({group, std::move(fd)});
  return true;
}

void KernelSockets::leave(const Gid& group) {
  std::erase_if(members_, [&](const Member& member) { return member.group == group; });
}

}  // namespace urxe
