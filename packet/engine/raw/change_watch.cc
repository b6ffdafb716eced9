// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/change_watch.h"

#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <span>

#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

constexpr int kMaxReads = 64;
/// Linux's headers name it as a number of a group only.
constexpr uint32_t kIpv6Rules = 1U << (RTNLGRP_IPV6_RULE - 1);

/// Whether one of the messages says that the interface is gone.
bool tells_of_end(std::span<const uint8_t> bytes, uint32_t ifindex) {
  while (bytes.size() >= sizeof(nlmsghdr)) {
    nlmsghdr header{};
    std::memcpy(&header, bytes.data(), sizeof header);
    if (header.nlmsg_len < sizeof header || header.nlmsg_len > bytes.size()) return false;
    if (header.nlmsg_type == RTM_DELLINK && header.nlmsg_len >= NLMSG_LENGTH(sizeof(ifinfomsg))) {
      ifinfomsg link{};
      std::memcpy(&link, bytes.data() + NLMSG_HDRLEN, sizeof link);
      // A bridge reports under the type of the interface's end that it has let it go.
      const bool is_end = link.ifi_family == AF_UNSPEC;
      if (is_end && link.ifi_index == static_cast<int>(ifindex)) return true;
    }
    bytes = bytes.subspan(std::min<size_t>(bytes.size(), NLMSG_ALIGN(header.nlmsg_len)));
  }
  return false;
}

}  // namespace

Expected<ChangeWatch, Errno> ChangeWatch::open(uint32_t ifindex) {
  FileDescriptor fd(socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, NETLINK_ROUTE));
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_LINK | RTMGRP_NEIGH | RTMGRP_IPV4_ROUTE | RTMGRP_IPV6_ROUTE |
                      RTMGRP_IPV4_IFADDR | RTMGRP_IPV6_IFADDR | RTMGRP_IPV4_RULE | kIpv6Rules;
  if (!fd || bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return error(errno);
  }
  return ChangeWatch(std::move(fd), ifindex);
}

ChangeWatch::Changes ChangeWatch::take() const {
  const Uncancelled uncancelled;
  Changes changes;
  std::array<uint8_t, 8192> buffer;
  for (int reads = 0; reads < kMaxReads; ++reads) {
    const ssize_t size = recv(fd_.get(), buffer.data(), buffer.size(), MSG_DONTWAIT);
    if (size < 0 && errno != EINTR && errno != ENOBUFS) break;
    changes.any = true;
    if (size > 0 && tells_of_end(std::span(buffer).first(static_cast<size_t>(size)), ifindex_)) {
      changes.interface_gone = true;
    }
  }
  return changes;
}

}  // namespace urxe
