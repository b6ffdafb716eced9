// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/udp_socket.h"

#include <netinet/in.h>
#include <netinet/udp.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "packet/host/socket_address.h"
#include "packet/host/socket_room.h"
#include "packet/host/spare_sockets.h"

// Linux has these; the C library does not name them.
#ifndef IPV6_FLOWINFO
#define IPV6_FLOWINFO 11
#endif
#ifndef IPV6_AUTOFLOWLABEL
#define IPV6_AUTOFLOWLABEL 70
#endif
#ifndef IPV6_MULTICAST_ALL
#define IPV6_MULTICAST_ALL 29
#endif
#ifndef UDP_NO_CHECK6_RX
#define UDP_NO_CHECK6_RX 102
#endif
#ifndef UDP_SEGMENT
#define UDP_SEGMENT 103
#endif
#ifndef UDP_GRO
#define UDP_GRO 104
#endif

namespace urxe {
namespace {

bool set(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

bool bind_to(int fd, const Gid& local, uint16_t port, uint32_t scope) {
  const SocketAddress address(local, port, scope);
  return bind(fd, address.get(), address.size()) == 0;
}

EngineError receive_error(int errno_value, const Gid& local) {
  const std::string where = "UDP port 4791 on " + local.to_string();
  if (errno_value == EADDRINUSE) {
    return {
        errno_value,
        where +
            " is taken by another program: kernel soft-RoCE (rxe) in this network namespace, or "
            "a process of another user. What to do: remove the kernel's device (\"rdma link\" "
            "shows it, \"rdma link delete NAME\" removes it), run all programs that use this "
            "address as the same user, or find the owner with \"ss -ulpn sport = 4791\""};
  }
  if (errno_value == EADDRNOTAVAIL) {
    return {errno_value,
            where +
                ": this network namespace has no such address, or not yet (IPv6 "
                "duplicate address detection). What to do: look at \"ip address\", and "
                "start again when the address is there"};
  }
  return {errno_value, where + ": " + std::strerror(errno_value)};
}

void report_ip_fields(int fd, bool ipv4) {
  if (ipv4) {
    set(fd, IPPROTO_IP, IP_RECVTOS, 1);
    set(fd, IPPROTO_IP, IP_RECVTTL, 1);
    return;
  }
  set(fd, IPPROTO_IPV6, IPV6_RECVTCLASS, 1);
  set(fd, IPPROTO_IPV6, IPV6_RECVHOPLIMIT, 1);
  set(fd, IPPROTO_IPV6, IPV6_FLOWINFO, 1);
  // rxe and NICs send a UDP checksum of 0 over IPv6 too; the ICRC protects the packet.
  set(fd, IPPROTO_UDP, UDP_NO_CHECK6_RX, 1);
}

/// A filter would keep nothing at all; but the kernel compiles each, under a lock of the whole
/// host.
void keep_little(int fd) {
  set(fd, SOL_SOCKET, SO_RCVBUF, 0);  // the kernel raises it to its minimum
}

/// Binds to a port that `holder` has on all addresses. The kernel allows that to two sockets of one
/// user that both have SO_REUSEPORT; they have it no longer than that.
bool bind_beside(int holder, int fd, const Gid& local, uint16_t port, uint32_t scope) {
  if (!set(holder, SOL_SOCKET, SO_REUSEPORT, 1) || !set(fd, SOL_SOCKET, SO_REUSEPORT, 1)) {
    return false;
  }
  const bool bound = bind_to(fd, local, port, scope);
  const int errno_value = errno;
  set(holder, SOL_SOCKET, SO_REUSEPORT, 0);
  set(fd, SOL_SOCKET, SO_REUSEPORT, 0);
  errno = errno_value;
  return bound;
}

ip_mreqn ipv4_membership(const Gid& group, uint32_t interface) {
  ip_mreqn membership{};
  if (group.is_ipv4()) std::memcpy(&membership.imr_multiaddr, group.ipv4(), 4);
  membership.imr_ifindex = static_cast<int>(interface);
  return membership;
}

bool join(int fd, const Gid& group, uint32_t interface) {
  if (group.is_ipv4()) {
    const ip_mreqn membership = ipv4_membership(group, interface);
    // Otherwise it would receive the group's packets of other interfaces, too.
    set(fd, IPPROTO_IP, IP_MULTICAST_ALL, 0);
    return setsockopt(fd, IPPROTO_IP, IP_ADD_MEMBERSHIP, &membership, sizeof membership) == 0;
  }
  ipv6_mreq membership{};
  std::memcpy(&membership.ipv6mr_multiaddr, group.bytes.data(), 16);
  membership.ipv6mr_interface = interface;
  set(fd, IPPROTO_IPV6, IPV6_MULTICAST_ALL, 0);
  return setsockopt(fd, IPPROTO_IPV6, IPV6_JOIN_GROUP, &membership, sizeof membership) == 0;
}

/// Sets the interface that packets to groups leave by, and has members on this host get them too.
void set_multicast_interface(int fd, bool ipv4, uint32_t interface) {
  if (ipv4) {
    const ip_mreqn by = ipv4_membership({}, interface);
    setsockopt(fd, IPPROTO_IP, IP_MULTICAST_IF, &by, sizeof by);
    set(fd, IPPROTO_IP, IP_MULTICAST_LOOP, 1);
  } else {
    set(fd, IPPROTO_IPV6, IPV6_MULTICAST_IF, static_cast<int>(interface));
    set(fd, IPPROTO_IPV6, IPV6_MULTICAST_LOOP, 1);
  }
}

/// The kernel has routes for groups over every interface, except for IPv6 over the loopback one.
bool is_unreachable_on_loopback(const Gid& group, uint32_t interface) {
  constexpr uint32_t kLoopback = 1;
  if (group.is_ipv4() || interface != kLoopback) return false;
  const FileDescriptor fd = open_udp_socket(false);
  set_multicast_interface(fd.get(), false, interface);
  const SocketAddress address(group, kRoceUdpPort, interface);
  return connect(fd.get(), address.get(), address.size()) != 0 && errno == ENETUNREACH;
}

EngineError group_error(int errno_value, const Gid& group) {
  std::string what = "cannot join multicast group " + group.to_string() + ": ";
  if (errno_value == ENETUNREACH) {
    return {errno_value, what +
                             "the loopback interface has no route for IPv6 groups. What to do: "
                             "\"ip -6 route add local ff00::/8 dev lo\", or use IPv4 groups"};
  }
  if (errno_value == EADDRINUSE) {
    return {errno_value, what +
                             "UDP port 4791 of all addresses is taken by another program, kernel "
                             "soft-RoCE (rxe) for instance. What to do: \"rdma link\" shows it, "
                             "\"rdma link delete NAME\" removes it"};
  }
  if (errno_value == ENOBUFS) {
    return {errno_value, what +
                             "too many groups. What to do: raise net.ipv4.igmp_max_memberships or "
                             "net.core.optmem_max"};
  }
  return {errno_value, what + std::strerror(errno_value)};
}

/// Packets are never fragmented, and are as large as the interface allows: what the kernel has
/// learned of a path is ignored, as a NIC does, because anyone on the network can forge it (ICMP).
bool set_header_fields(int fd, bool ipv4) {
  if (ipv4) {
    // The ICRC covers the identification. Only an unconnected socket with DF is sure to send 0.
    return set(fd, IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_PROBE) &&
           set(fd, IPPROTO_IP, IP_TTL, kDefaultHopLimit);
  }
  // Otherwise the kernel would choose a label, and the receiver would see it in the GRH. Flows
  // spread over paths by their source port.
  set(fd, IPPROTO_IPV6, IPV6_AUTOFLOWLABEL, 0);
  return set(fd, IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_PROBE) &&
         set(fd, IPPROTO_IPV6, IPV6_DONTFRAG, 1) &&
         set(fd, IPPROTO_IPV6, IPV6_UNICAST_HOPS, kDefaultHopLimit);
}

}  // namespace

Expected<void, EngineError> bind_receive_socket(int fd, const Gid& local,
                                                const UdpSocketOptions& options) {
  const bool ipv4 = local.is_ipv4();
  if (!set(fd, SOL_SOCKET, SO_REUSEPORT, 1)) {
    return Unexpected<EngineError>(receive_error(errno, local));
  }
  report_ip_fields(fd, ipv4);
  if (!set_header_fields(fd, ipv4)) return Unexpected<EngineError>(receive_error(errno, local));
  ask_receive_room(fd, options.buffer_bytes);
  if (options.offload) set(fd, IPPROTO_UDP, UDP_GRO, 1);
  if (!bind_to(fd, local, kRoceUdpPort, options.scope)) {
    return Unexpected<EngineError>(receive_error(errno, local));
  }
  return {};
}

Expected<FileDescriptor, EngineError> open_receive_socket(const Gid& local,
                                                          const UdpSocketOptions& options) {
  FileDescriptor fd = open_udp_socket(local.is_ipv4());
  if (!fd) return Unexpected<EngineError>(receive_error(errno, local));
  auto bound = bind_receive_socket(fd.get(), local, options);
  if (!bound) return Unexpected<EngineError>(std::move(bound.error()));
  return fd;
}

Expected<FileDescriptor, EngineError> open_group_socket(const Gid& group,
                                                        const UdpSocketOptions& options) {
  const bool ipv4 = group.is_ipv4();
  if (is_unreachable_on_loopback(group, options.scope)) {
    return Unexpected<EngineError>(group_error(ENETUNREACH, group));
  }
  FileDescriptor fd = open_udp_socket(ipv4);
  // SO_REUSEADDR, not SO_REUSEPORT: other users' programs may be members as well.
  if (!fd || !set(fd.get(), SOL_SOCKET, SO_REUSEADDR, 1)) {
    return Unexpected<EngineError>(group_error(errno, group));
  }
  report_ip_fields(fd.get(), ipv4);
  ask_receive_room(fd.get(), options.buffer_bytes);
  if (options.offload) set(fd.get(), IPPROTO_UDP, UDP_GRO, 1);
  if (!bind_to(fd.get(), group, kRoceUdpPort, options.scope) ||
      !join(fd.get(), group, options.scope)) {
    return Unexpected<EngineError>(group_error(errno, group));
  }
  return fd;
}

Expected<FileDescriptor, Errno> take_port(uint16_t port) {
  // Of both families: a socket of IPv6 can send IPv4 packets, too.
  FileDescriptor fd(socket(AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const bool ipv6 = static_cast<bool>(fd);
  if (!ipv6) fd = open_udp_socket(true);  // a host without IPv6
  if (!fd || (ipv6 && !set(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0))) return error(errno);
  keep_little(fd.get());
  constexpr uint8_t kAnyIpv4[4] = {};
  if (!bind_to(fd.get(), ipv6 ? Gid() : Gid::from_ipv4(kAnyIpv4), port, 0)) return error(errno);
  return fd;
}

Expected<FileDescriptor, Errno> open_send_socket(const Gid& local, uint16_t port, int holder,
                                                 const UdpSocketOptions& options) {
  FileDescriptor fd = open_udp_socket(local.is_ipv4());
  if (!fd) return error(errno);
  if (!set_header_fields(fd.get(), local.is_ipv4())) return error(errno);
  keep_little(fd.get());
  set_multicast_interface(fd.get(), local.is_ipv4(), options.scope);
  ask_send_room(fd.get(), options.buffer_bytes);
  if (!bind_beside(holder, fd.get(), local, port, options.scope)) return error(errno);
  return fd;
}

size_t receive_buffer_bytes(const UdpSocketOptions& options) {
  const FileDescriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  if (!fd) return 0;
  ask_receive_room(fd.get(), options.buffer_bytes);
  return granted_receive_room(fd.get());
}

bool kernel_segments_udp() {
  const FileDescriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
  return fd && set(fd.get(), IPPROTO_UDP, UDP_SEGMENT, 1024);
}

}  // namespace urxe
