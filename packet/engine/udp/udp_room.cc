// SPDX-License-Identifier: BSD-2-Clause
// How a UdpEngine hears that a socket has room again for what waits to be sent.
#include <sys/epoll.h>

#include <algorithm>

#include "packet/engine/udp/udp.h"

namespace urxe {

void UdpEngine::watch_blocked_sockets() {
  const auto blocked = sender_.blocked_fds();
  if (std::ranges::equal(blocked, watched_blocked_)) return;
  for (const int fd : watched_blocked_) watch_room(fd, false);
  watched_blocked_.assign(blocked.begin(), blocked.end());
  for (const int fd : watched_blocked_) watch_room(fd, true);
}

void UdpEngine::watch_room(int fd, bool on) const {
  const auto receiver =
      std::ranges::find_if(receivers_, [fd](const Receiver& r) { return r.fd.get() == fd; });
  if (receiver == receivers_.end()) {
    if (on) {
      (void)watch(fd, kBlockedId, EPOLLOUT);  // without it, receive() tries again
      return;
    }
    epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
    return;
  }
  // Port 4791 is watched already, for what comes in.
  epoll_event event{};
  event.events = on ? EPOLLIN | EPOLLOUT : EPOLLIN;
  event.data.u32 = static_cast<uint32_t>(receiver - receivers_.begin());
  epoll_ctl(epoll_.get(), EPOLL_CTL_MOD, fd, &event);
}

}  // namespace urxe
