// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/closed_ports.h"

#include <sys/socket.h>

#include <algorithm>
#include <cerrno>

#include "packet/host/random.h"
#include "packet/host/socket_address.h"
#include "packet/host/spare_sockets.h"
#include "packet/wire/port_probe.h"
#include "packet/wire/types.h"

namespace urxe {
namespace {

constexpr uint32_t kRefusalsWanted = 2;
constexpr int kPortsTried = 4;

/// Binds to a random port of the range that RoCE packets are sent from, so that firewalls treat the
/// datagram like them.
bool bind_to_any_port(int fd, const Gid& local, uint32_t scope) {
  for (int i = 0; i < kPortsTried; ++i) {
    const SocketAddress from(local, source_port_by(random_number()), scope);
    if (bind(fd, from.get(), from.size()) == 0) return true;
  }
  return false;
}

/// A socket that has sent a datagram; none if that was not possible.
FileDescriptor send_datagram(const Gid& local, const Gid& peer, uint32_t scope) {
  FileDescriptor fd = open_udp_socket(local.is_ipv4());
  const SocketAddress to(peer, kRoceUdpPort, scope);
  if (!fd || !bind_to_any_port(fd.get(), local, scope)) return {};
  if (connect(fd.get(), to.get(), to.size()) != 0) return {};
  const auto datagram = encode_probe({0, random_number(), 0});
  if (send(fd.get(), datagram.data(), datagram.size(), 0) < 0) return {};
  return fd;
}

bool was_refused(const FileDescriptor& fd) {
  int found = 0;
  socklen_t size = sizeof found;
  return fd && getsockopt(fd.get(), SOL_SOCKET, SO_ERROR, &found, &size) == 0 &&
         found == ECONNREFUSED;
}

}  // namespace

bool ClosedPorts::look(const Gid& local, const Gid& peer, uint32_t scope, Instant now) {
  expire(now);
  Look* look = find(local, peer, scope);
  if (look == nullptr) {
    if (looks_.size() == kMost) return false;
    look = &looks_.emplace_back(Look{local, peer, scope, {}, 0, now});
  }
  if (was_refused(look->socket)) ++look->refusals;
  if (look->refusals == kRefusalsWanted) {
    looks_.erase(looks_.begin() + (look - looks_.data()));
    return true;
  }
  look->socket = send_datagram(local, peer, scope);
  look->sent_at = now;
  return false;
}

void ClosedPorts::expire(Instant now) {
  std::erase_if(looks_, [&](const Look& look) { return now - look.sent_at >= kKeep; });
}

std::optional<Instant> ClosedPorts::next_expiry() const {
  if (looks_.empty()) return std::nullopt;
  return std::ranges::min_element(looks_, {}, &Look::sent_at)->sent_at + kKeep;
}

ClosedPorts::Look* ClosedPorts::find(const Gid& local, const Gid& peer, uint32_t scope) {
  const auto found = std::ranges::find_if(looks_, [&](const Look& look) {
    return look.local == local && look.peer == peer && look.scope == scope;
  });
  return found == looks_.end() ? nullptr : &*found;
}

}  // namespace urxe
