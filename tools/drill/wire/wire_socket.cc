// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/wire_socket.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>

#include "packet/engine/udp/udp_socket.h"
#include "packet/host/clock.h"
#include "packet/host/local_address.h"
#include "packet/host/socket_address.h"
#include "packet/wire/types.h"

namespace urxe::drill {
namespace {

constexpr size_t kMostBytes = 65536;
constexpr uint16_t kPortsTried = 64;

Unexpected<std::string> socket_failure(std::string what) {
  return Unexpected<std::string>(std::move(what));
}

std::optional<Gid> parse_address(const std::string& text) {
  uint8_t bytes[16];
  if (inet_pton(AF_INET, text.c_str(), bytes) == 1) return Gid::from_ipv4(bytes);
  if (inet_pton(AF_INET6, text.c_str(), bytes) == 1) return Gid::from_ipv6(bytes);
  return std::nullopt;
}

/// The address that the kernel sends from.
Expected<Gid, std::string> address_towards(const Gid& peer) {
  SocketAddress address(peer, kRoceUdpPort, 0);
  const FileDescriptor fd(socket(address.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  SocketAddress own;
  socklen_t size = SocketAddress::kCapacity;
  if (!fd || connect(fd.get(), address.get(), address.size()) != 0 ||
      getsockname(fd.get(), own.get(), &size) != 0) {
    return socket_failure(
        fmt::format("no way to {}: {}. What to do: name an address of this host with "
                    "--local",
                    peer.to_string(), std::strerror(errno)));
  }
  return own.gid();
}

/// When the kernel received a datagram.
Instant arrival(const msghdr& message) {
  const Instant now = clock_now();
  for (const cmsghdr* c = CMSG_FIRSTHDR(&message); c != nullptr;
       c = CMSG_NXTHDR(const_cast<msghdr*>(&message), const_cast<cmsghdr*>(c))) {
    if (c->cmsg_level != SOL_SOCKET || c->cmsg_type != SCM_TIMESTAMPNS) continue;
    timespec t{};
    std::memcpy(&t, CMSG_DATA(c), sizeof t);
    const int64_t wall_ns = static_cast<int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
    return now - nanoseconds(wall_clock_ns() - wall_ns);
  }
  return now;
}

}  // namespace

Expected<Gid, std::string> parse_local_address(const std::string& text, const Gid& peer) {
  const std::optional<Gid> address = parse_address(text);
  if (!address) return socket_failure(fmt::format("'{}' is no IP address", text));
  if (address->is_ipv4() != peer.is_ipv4()) {
    return socket_failure(fmt::format("{} and the device's address {} are of different families",
                                      text, peer.to_string()));
  }
  if (!address->is_ipv6_link_local() && !is_address_of_this_host(*address)) {
    return socket_failure(text + " is no address of this host");
  }
  return *address;
}

Expected<WireSocket, std::string> WireSocket::open(std::optional<Gid> local, const Gid& peer) {
  const auto address = local ? Expected<Gid, std::string>(*local) : address_towards(peer);
  if (!address) return socket_failure(address.error());
  WireSocket opened;
  opened.flow_.source = *address;
  opened.flow_.destination = peer;
  UdpSocketOptions options;
  options.buffer_bytes = 1 << 20;
  options.offload = false;
  auto receiver = open_receive_socket(*address, options);
  if (!receiver) return socket_failure(receiver.error().what);
  opened.receiver_ = std::move(*receiver);
  const int on = 1;
  setsockopt(opened.receiver_.get(), SOL_SOCKET, SO_TIMESTAMPNS, &on, sizeof on);
  int errno_value = 0;
  for (uint16_t i = 0; i < kPortsTried; ++i) {
    const auto port = static_cast<uint16_t>(kFirstSourcePort + i);
    auto holder = take_port(port);
    if (!holder) {
      errno_value = holder.error().value;
      continue;
    }
    auto sender = open_send_socket(*address, port, holder->get(), options);
    if (sender) {
      opened.port_ = std::move(*holder);
      opened.sender_ = std::move(*sender);
      opened.flow_.source_port = port;
      return opened;
    }
    errno_value = sender.error().value;
  }
  return socket_failure(fmt::format("no UDP source port on {}: {}", address->to_string(),
                                    std::strerror(errno_value)));
}

int WireSocket::send(std::span<const uint8_t> packet) {
  const SocketAddress to(flow_.destination, kRoceUdpPort, 0);
  const ssize_t sent = sendto(sender_.get(), packet.data(), packet.size(), 0, to.get(), to.size());
  return sent < 0 ? errno : 0;
}

std::optional<SentPacket> WireSocket::receive() {
  for (;;) {
    std::vector<uint8_t> bytes(kMostBytes);
    SocketAddress from;
    alignas(cmsghdr) uint8_t control[256];
    iovec part{bytes.data(), bytes.size()};
    msghdr message{};
    message.msg_name = from.get();
    message.msg_namelen = SocketAddress::kCapacity;
    message.msg_iov = &part;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t size = recvmsg(receiver_.get(), &message, MSG_DONTWAIT);
    if (size < 0) return std::nullopt;
    if (from.gid() != flow_.destination) continue;
    bytes.resize(static_cast<size_t>(size));
    SentPacket packet;
    packet.when = arrival(message);
    packet.bytes = std::move(bytes);
    packet.flow.source = from.gid();
    packet.flow.destination = flow_.source;
    packet.flow.source_port = from.port();
    return packet;
  }
}

}  // namespace urxe::drill
