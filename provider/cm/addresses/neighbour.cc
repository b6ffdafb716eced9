// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/neighbour.h"

#include <linux/neighbour.h>
#include <linux/rtnetlink.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <cerrno>

#include "packet/host/netlink_request.h"
#include "packet/host/socket_address.h"

namespace urxe::cm {
namespace {

constexpr uint16_t kDiscardPort = 9;
constexpr uint16_t kKnownStates =
    NUD_REACHABLE | NUD_STALE | NUD_DELAY | NUD_PROBE | NUD_NOARP | NUD_PERMANENT;

}  // namespace

Expected<NeighbourState, Errno> neighbour_state(const Gid& address, uint32_t ifindex) {
  ndmsg question{};
  question.ndm_family = address.is_ipv4() ? AF_INET : AF_INET6;
  question.ndm_ifindex = static_cast<int>(ifindex);
  NetlinkRequest request(RTM_GETNEIGH, question);
  request.add(NDA_DST, address);
  const auto answer = request.ask();
  if (!answer && answer.error().value == ENOENT) return NeighbourState::kUnknown;
  if (!answer) return error(answer.error().value);
  const uint16_t state = answer->header<ndmsg>().ndm_state;
  if ((state & kKnownStates) != 0) return NeighbourState::kKnown;
  if ((state & NUD_INCOMPLETE) != 0) return NeighbourState::kAsking;
  return (state & NUD_FAILED) != 0 ? NeighbourState::kNoAnswer : NeighbourState::kUnknown;
}

Expected<void, Errno> ask_for_neighbour(const Gid& destination, const Gid& source,
                                        uint32_t ifindex) {
  const SocketAddress to(destination, kDiscardPort, ifindex);
  const FileDescriptor fd(socket(to.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!fd) return error(errno);
  const int one_hop = 1;
  if (to.family() == AF_INET) {
    setsockopt(fd.get(), IPPROTO_IP, IP_TTL, &one_hop, sizeof one_hop);
  } else {
    setsockopt(fd.get(), IPPROTO_IPV6, IPV6_UNICAST_HOPS, &one_hop, sizeof one_hop);
  }
  const SocketAddress from(source, 0, ifindex);
  if (bind(fd.get(), from.get(), from.size()) != 0) return error(errno);
  if (sendto(fd.get(), nullptr, 0, MSG_DONTWAIT | MSG_NOSIGNAL, to.get(), to.size()) < 0) {
    return error(errno);
  }
  return {};
}

Expected<FileDescriptor, Errno> watch_neighbours() {
  FileDescriptor fd(socket(AF_NETLINK, SOCK_RAW | SOCK_NONBLOCK | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!fd) return error(errno);
  sockaddr_nl address{};
  address.nl_family = AF_NETLINK;
  address.nl_groups = RTMGRP_NEIGH;
  if (bind(fd.get(), reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    return error(errno);
  }
  return fd;
}

void take_neighbour_changes(const FileDescriptor& watch) {
  uint8_t ignored[1];
  // ENOBUFS: some were lost, which does not matter here.
  while (recv(watch.get(), ignored, sizeof ignored, MSG_DONTWAIT | MSG_TRUNC) >= 0 ||
         errno == ENOBUFS || errno == EINTR) {
  }
}

}  // namespace urxe::cm
