// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/peer/arrival_probe.h"

#include <linux/errqueue.h>
#include <netinet/in.h>
#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include "packet/host/clock.h"
#include "packet/host/file_descriptor.h"
#include "packet/host/socket_address.h"
#include "provider/devices/path_mtu.h"

namespace urxe::doctor {
namespace {

/// The ports of traceroute(8), at which nobody listens.
constexpr uint16_t kFirstPort = 33434;
constexpr uint32_t kIpv4Headers = 28;  // with UDP
constexpr uint32_t kIpv6Headers = 48;
/// Linux sends a host six such answers at once, and then one a second.
constexpr Duration kAnswerPatience = seconds(1);
constexpr int kTries = 4;

class ArrivalProbe {
 public:
  explicit ArrivalProbe(const PeerAddress& peer) {
    std::memcpy(static_cast<void*>(to_.get()), &peer.address,
                std::min(peer.size, SocketAddress::kCapacity));
  }

  /// The answers come by the queue of errors; the kernel does not cut packets in pieces.
  bool open() {
    fd_ = FileDescriptor(socket(to_.family(), SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
    if (!fd_) return false;
    if (is_ipv4()) {
      return set(IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO) && set(IPPROTO_IP, IP_RECVERR, 1);
    }
    return set(IPPROTO_IPV6, IPV6_MTU_DISCOVER, IPV6_PMTUDISC_DO) &&
           set(IPPROTO_IPV6, IPV6_RECVERR, 1);
  }

  /// Whether the peer answers one of some IP packets of this size.
  bool arrives(uint32_t ip_bytes) {
    const uint32_t headers = is_ipv4() ? kIpv4Headers : kIpv6Headers;
    const std::vector<uint8_t> payload(ip_bytes > headers ? ip_bytes - headers : 1);
    const uint16_t first_port = next_port_;
    for (int i = 0; i < kTries; ++i) {
      if (!send_to_next_port(payload)) return false;
      if (wait_for_answer(first_port)) return true;
    }
    return false;
  }

 private:
  [[nodiscard]] bool is_ipv4() const { return to_.family() == AF_INET; }

  [[nodiscard]] bool set(int level, int option, int value) const {
    return setsockopt(fd_.get(), level, option, &value, sizeof value) == 0;
  }

  bool send_to_next_port(const std::vector<uint8_t>& payload) {
    // The port has the same place in both.
    reinterpret_cast<sockaddr_in*>(to_.get())->sin_port = htons(next_port_++);
    const auto attempt = [&] {
      return sendto(fd_.get(), payload.data(), payload.size(), 0, to_.get(), to_.size()) >= 0;
    };
    // The first call may report an answer that has come meanwhile.
    return attempt() || (errno == ECONNREFUSED && attempt());
  }

  /// An answer to an earlier packet of the same size is as good.
  bool wait_for_answer(uint16_t first_port) {
    const Instant end = clock_now() + kAnswerPatience;
    while (clock_now() < end) {
      const auto left_ms = static_cast<int>((end - clock_now()).ns / 1'000'000) + 1;
      pollfd waiting{fd_.get(), 0, 0};
      if (poll(&waiting, 1, left_ms) <= 0) continue;
      bool answered = false;
      if (!read_answers(first_port, answered)) return false;
      if (answered) return true;
    }
    return false;
  }

  /// False: there was none of any kind.
  bool read_answers(uint16_t first_port, bool& answered) {
    for (bool any = false;; any = true) {
      SocketAddress target;
      alignas(cmsghdr) uint8_t control[512];
      msghdr message{};
      message.msg_name = target.get();
      message.msg_namelen = SocketAddress::kCapacity;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      if (recvmsg(fd_.get(), &message, MSG_ERRQUEUE | MSG_DONTWAIT) < 0) return any;
      answered = answered || (target.port() >= first_port && is_from_peer(message));
    }
  }

  /// A router or a firewall on the way may refuse packets, too.
  [[nodiscard]] bool is_from_peer(msghdr& message) const {
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
         part = CMSG_NXTHDR(&message, part)) {
      const bool is_error = (part->cmsg_level == IPPROTO_IP && part->cmsg_type == IP_RECVERR) ||
                            (part->cmsg_level == IPPROTO_IPV6 && part->cmsg_type == IPV6_RECVERR);
      if (!is_error) continue;
      sock_extended_err error{};
      std::memcpy(&error, CMSG_DATA(part), sizeof error);
      SocketAddress offender;
      std::memcpy(static_cast<void*>(offender.get()), CMSG_DATA(part) + sizeof error,
                  is_ipv4() ? sizeof(sockaddr_in) : sizeof(sockaddr_in6));
      return error.ee_errno == ECONNREFUSED && offender.gid() == to_.gid();
    }
    return false;
  }

  FileDescriptor fd_;
  SocketAddress to_;
  uint16_t next_port_ = kFirstPort;
};

}  // namespace

std::optional<ibv_mtu> probe_arrival(const PeerAddress& peer, uint32_t ip_mtu) {
  ArrivalProbe probe(peer);
  const auto packet_of = [&](ibv_mtu mtu) { return std::min(largest_packet_of(mtu), ip_mtu); };
  if (!probe.open() || !probe.arrives(packet_of(IBV_MTU_256))) return std::nullopt;
  int mtu = path_mtu_for(ip_mtu);
  while (mtu > IBV_MTU_256 && !probe.arrives(packet_of(static_cast<ibv_mtu>(mtu)))) --mtu;
  return static_cast<ibv_mtu>(mtu);
}

}  // namespace urxe::doctor
