// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/spare_sockets.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <utility>

namespace urxe {
namespace {

constexpr int kOfAFamily = 2;

bool may_become_another() {
  uid_t real = 0;
  uid_t effective = 0;
  uid_t saved = 0;
  if (getresuid(&real, &effective, &saved) != 0) return false;
  return effective == 0 || real != effective || saved != effective;
}

}  // namespace

FileDescriptor open_udp_socket(bool ipv4) {
  FileDescriptor fd(
      socket(ipv4 ? AF_INET : AF_INET6, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  const int on = 1;
  // On a host without IPv6, bind() reports the error.
  if (fd && !ipv4) setsockopt(fd.get(), IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on);
  return fd;
}

SpareSockets::SpareSockets() : user_(geteuid()) {
  if (!may_become_another()) return;
  for (const bool ipv4 : {false, true}) {
    for (int i = 0; i < kOfAFamily; ++i) {
      if (FileDescriptor fd = open_udp_socket(ipv4)) of(ipv4).push_back(std::move(fd));
    }
  }
}

bool SpareSockets::are_needed() const {
  return geteuid() != user_;
}

FileDescriptor SpareSockets::take(bool ipv4) {
  std::vector<FileDescriptor>& sockets = of(ipv4);
  if (!are_needed() || sockets.empty()) return {};
  FileDescriptor socket = std::move(sockets.back());
  sockets.pop_back();
  return socket;
}

}  // namespace urxe
