// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/change_socket.h"

#include <linux/if_addr.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <optional>

namespace urxe {
namespace {

template <class Body>
Body body_at(std::span<const std::byte> message) {
  Body body{};
  const auto rest = message.subspan(NLMSG_HDRLEN);
  std::memcpy(&body, rest.data(), std::min(rest.size(), sizeof body));
  return body;
}

std::optional<uint32_t> interface_of(uint16_t type, std::span<const std::byte> message) {
  switch (type) {
    case RTM_NEWLINK:
    case RTM_DELLINK:
      return static_cast<uint32_t>(body_at<ifinfomsg>(message).ifi_index);
    case RTM_NEWADDR:
    case RTM_DELADDR:
      return body_at<ifaddrmsg>(message).ifa_index;
    default:
      return std::nullopt;
  }
}

}  // namespace

bool tells_of(std::span<const std::byte> bytes, const std::vector<uint32_t>& ifindexes) {
  while (bytes.size() >= NLMSG_HDRLEN) {
    nlmsghdr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.nlmsg_len < NLMSG_HDRLEN || header.nlmsg_len > bytes.size()) return false;
    auto ifindex = interface_of(header.nlmsg_type, bytes.first(header.nlmsg_len));
    if (ifindex && std::ranges::find(ifindexes, *ifindex) != ifindexes.end()) return true;
    bytes = bytes.subspan(std::min<size_t>(bytes.size(), NLMSG_ALIGN(header.nlmsg_len)));
  }
  return false;
}

bool ChangeSocket::open() {
  fd_ = FileDescriptor(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK | RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR;
  if (!fd_ || bind(fd_.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    const int saved = errno;
    fd_.reset();
    errno = saved;
    return false;
  }
  return true;
}

bool ChangeSocket::take(const std::vector<uint32_t>& ifindexes) {
  bool concerns_us = false;
  std::array<std::byte, 16384> buffer;
  for (;;) {
    const ssize_t got = recv(fd_.get(), buffer.data(), buffer.size(), MSG_TRUNC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno != ENOBUFS) return concerns_us;
    // ENOBUFS: the socket was full; a lost report may have been about one of the interfaces.
    const bool whole = got >= 0 && static_cast<size_t>(got) <= buffer.size();
    concerns_us = concerns_us || !whole ||
                  tells_of(std::span(buffer).first(static_cast<size_t>(got)), ifindexes);
  }
}

}  // namespace urxe
