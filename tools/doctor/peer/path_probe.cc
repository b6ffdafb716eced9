// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/peer/path_probe.h"

#include <fmt/format.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <sys/ioctl.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "packet/host/file_descriptor.h"
#include "packet/host/random.h"
#include "packet/host/socket_address.h"
#include "packet/wire/icrc.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/types.h"
#include "provider/devices/path_mtu.h"

namespace urxe::doctor {
namespace {

constexpr int kPortAttempts = 8;
/// Longer than most round trips.
constexpr int kPathPatienceMs = 500;
/// No queue pair has these: P_Key 1 is nobody's, and the number is the last one.
constexpr uint32_t kNobodysQueuePair = 0xfffffe;
constexpr uint16_t kNobodysKey = 1;
constexpr uint8_t kAnyAddress[4] = {};

bool set(int fd, int level, int option, int value) {
  return setsockopt(fd, level, option, &value, sizeof value) == 0;
}

SocketAddress to_socket_address(const sockaddr* address, socklen_t size) {
  SocketAddress result;
  std::memcpy(static_cast<void*>(result.get()), address,
              size < SocketAddress::kCapacity ? size : SocketAddress::kCapacity);
  return result;
}

bool bind_source_port(int fd, int family) {
  for (int attempt = 0; attempt < kPortAttempts; ++attempt) {
    const auto port = source_port_by(random_number());
    const Gid any = family == AF_INET ? Gid::from_ipv4(kAnyAddress) : Gid{};
    const SocketAddress local(any, port, 0);
    if (bind(fd, local.get(), local.size()) == 0) return true;
  }
  return false;
}

/// A socket that does not let packets be cut in pieces. None with errno.
FileDescriptor open_towards(const PeerAddress& peer) {
  const int family = peer.address.ss_family;
  FileDescriptor fd(socket(family, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return fd;
  const bool whole = family == AF_INET
                         ? set(fd.get(), IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
                         : set(fd.get(), IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO);
  const bool ready =
      whole && bind_source_port(fd.get(), family) &&
      connect(fd.get(), reinterpret_cast<const sockaddr*>(&peer.address), peer.size) == 0;
  return ready ? std::move(fd) : FileDescriptor();
}

Flow flow_of(int fd, const PeerAddress& peer) {
  SocketAddress local;
  socklen_t size = SocketAddress::kCapacity;
  getsockname(fd, local.get(), &size);
  const SocketAddress remote =
      to_socket_address(reinterpret_cast<const sockaddr*>(&peer.address), peer.size);
  Flow flow;
  flow.source = local.gid();
  flow.destination = remote.gid();
  flow.source_port = local.port();
  return flow;
}

std::vector<uint8_t> make_probe(const Flow& flow, uint32_t payload_bytes) {
  Headers headers;
  headers.bth.opcode = Opcode(Service::kUc, Operation::kSendOnly);
  headers.bth.pkey = PKey(kNobodysKey);
  headers.bth.dest_qp = Qpn(kNobodysQueuePair);
  std::vector<uint8_t> packet(packet_size(headers.bth.opcode, payload_bytes));
  write_headers(packet.data(), headers, payload_bytes);
  write_icrc(flow, 0, packet);
  return packet;
}

/// The errno with which the packet is refused, at once or by ICMP; 0: it is not.
int send_and_wait(int fd, const std::vector<uint8_t>& packet) {
  if (send(fd, packet.data(), packet.size(), 0) < 0) return errno;
  pollfd waiting{fd, POLLIN, 0};
  if (poll(&waiting, 1, kPathPatienceMs) <= 0) return 0;
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : 0;
}

uint32_t read_mtu(int fd, int family) {
  int mtu = 0;
  socklen_t size = sizeof mtu;
  const int failed = family == AF_INET ? getsockopt(fd, IPPROTO_IP, IP_MTU, &mtu, &size)
                                       : getsockopt(fd, IPPROTO_IPV6, IPV6_MTU, &mtu, &size);
  return failed == 0 && mtu > 0 ? static_cast<uint32_t>(mtu) : 0;
}

/// The MTU of the interface that has the address; 0: not known.
uint32_t interface_mtu_of(int fd, const Gid& local) {
  ifaddrs* all = nullptr;
  if (getifaddrs(&all) != 0) return 0;
  ifreq request{};
  for (const ifaddrs* one = all; one != nullptr; one = one->ifa_next) {
    const int family = one->ifa_addr != nullptr ? one->ifa_addr->sa_family : AF_UNSPEC;
    if (family != AF_INET && family != AF_INET6) continue;
    const socklen_t size = family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
    if (to_socket_address(one->ifa_addr, size).gid() != local) continue;
    std::strncpy(request.ifr_name, one->ifa_name, sizeof request.ifr_name - 1);
  }
  freeifaddrs(all);
  const bool found = request.ifr_name[0] != 0 && ioctl(fd, SIOCGIFMTU, &request) == 0;
  return found && request.ifr_mtu > 0 ? static_cast<uint32_t>(request.ifr_mtu) : 0;
}

/// Programs use the path MTU of the device unless they are told otherwise. urxe ignores a router
/// that says it is too large, since anyone can send that message.
Finding judge_narrow_way(const PeerAddress& peer, const PathFacts& facts, ibv_mtu told) {
  const uint32_t fits = path_mtu_bytes(told);
  return note(
      kPeerCheck,
      fmt::format("packets to {} may have {} bytes, as far as routers tell: path MTU {}. That of "
                  "this host's device is {}, and larger packets are lost on the way",
                  peer.text, facts.ip_mtu, fits, path_mtu_bytes(path_mtu_for(facts.interface_mtu))),
      fmt::format("give programs that path MTU (ib_write_bw -m {}), or lower the MTU of this "
                  "host's interface, and of the peer's, to {}",
                  fits, facts.ip_mtu));
}

/// Of a way on which nothing is refused.
Finding judge_size(const PeerAddress& peer, const PathFacts& facts) {
  const ibv_mtu told = path_mtu_for(facts.ip_mtu);
  if (!facts.arriving) {
    return note(
        kPeerCheck,
        fmt::format("packets to {} may have {} bytes, as far as routers tell: path MTU {}; "
                    "whether those arrive is not known, for {} does not answer UDP packets "
                    "to closed ports (ICMP)",
                    peer.text, facts.ip_mtu, path_mtu_bytes(told), peer.text),
        "a firewall in the way may let UDP ports 33434 to 33523 and ICMP pass; or send long "
        "messages: ib_write_bw");
  }
  if (*facts.arriving < told) {
    return problem(
        kPeerCheck,
        fmt::format(
            "packets to {} may have {} bytes, as far as routers tell, but those of path MTU "
            "{} do not arrive; those of path MTU {} do",
            peer.text, facts.ip_mtu, path_mtu_bytes(static_cast<ibv_mtu>(*facts.arriving + 1)),
            path_mtu_bytes(*facts.arriving)),
        fmt::format(
            "let the switches and interfaces on the way carry {} bytes, or lower the MTU of "
            "this host's interface, and of the peer's, to {}",
            largest_packet_of(told), largest_packet_of(*facts.arriving)));
  }
  if (path_mtu_for(facts.interface_mtu) > told) return judge_narrow_way(peer, facts, told);
  return ok(kPeerCheck, fmt::format("packets to {} may have {} bytes, and those of path MTU {} "
                                    "arrive (UDP to closed ports, which ICMP answers)",
                                    peer.text, facts.ip_mtu, path_mtu_bytes(told)));
}

/// Verbs programs print IPv4 addresses as IPv6 addresses (::ffff:192.0.2.1). The kernel tells an
/// IPv6 socket less of what became of packets to one.
void unmap_ipv4(PeerAddress& peer) {
  if (peer.address.ss_family != AF_INET6) return;
  const auto mapped = *reinterpret_cast<const sockaddr_in6*>(&peer.address);
  if (!IN6_IS_ADDR_V4MAPPED(&mapped.sin6_addr)) return;
  sockaddr_in plain{};
  plain.sin_family = AF_INET;
  plain.sin_port = mapped.sin6_port;
  std::memcpy(&plain.sin_addr, &mapped.sin6_addr.s6_addr[12], sizeof plain.sin_addr);
  peer.address = {};
  std::memcpy(&peer.address, &plain, sizeof plain);
  peer.size = sizeof plain;
}

}  // namespace

Expected<PeerAddress, std::string> resolve_peer(const std::string& host) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_DGRAM;
  addrinfo* found = nullptr;
  const int failed = getaddrinfo(host.c_str(), "4791", &hints, &found);
  if (failed != 0) return Unexpected<std::string>(host + ": " + gai_strerror(failed));
  PeerAddress peer;
  std::memcpy(&peer.address, found->ai_addr, found->ai_addrlen);
  peer.size = found->ai_addrlen;
  freeaddrinfo(found);
  unmap_ipv4(peer);
  char text[NI_MAXHOST] = {};
  getnameinfo(reinterpret_cast<sockaddr*>(&peer.address), peer.size, text, sizeof text, nullptr, 0,
              NI_NUMERICHOST);
  peer.text = text;
  return peer;
}

PathFacts probe_path(const PeerAddress& peer) {
  PathFacts facts;
  const FileDescriptor fd = open_towards(peer);
  if (!fd) {
    facts.error = errno;
    return facts;
  }
  const Flow flow = flow_of(fd.get(), peer);
  for (int mtu = IBV_MTU_4096; mtu >= IBV_MTU_256; --mtu) {
    const auto payload = path_mtu_bytes(static_cast<ibv_mtu>(mtu));
    facts.error = send_and_wait(fd.get(), make_probe(flow, payload));
    if (facts.error != EMSGSIZE) break;
  }
  facts.refused = facts.error == ECONNREFUSED;
  facts.ip_mtu = read_mtu(fd.get(), peer.address.ss_family);
  facts.interface_mtu = interface_mtu_of(fd.get(), flow.source);
  return facts;
}

Findings judge_path(const PeerAddress& peer, const PathFacts& facts) {
  if (facts.refused) {
    return {problem(
        kPeerCheck, peer.text + " says that nobody has UDP port 4791",
        "start a program there that listens, such as `urxe run -- rping -s`: urxe has the port "
        "once a program listens by librdmacm or connects a queue pair; or look for a "
        "firewall that rejects")};
  }
  if (facts.error != 0) {
    return {problem(kPeerCheck, peer.text + " cannot be reached: " + std::strerror(facts.error),
                    facts.error == EPERM ? "a firewall of this host refuses the packets"
                                         : "look at `ip route get " + peer.text + "`")};
  }
  return {judge_size(peer, facts)};
}

}  // namespace urxe::doctor
