// SPDX-License-Identifier: BSD-2-Clause
#include "control.h"

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>

#include "failure.h"

namespace rc_verify {
namespace {

int try_connect(const addrinfo& address) {
  const int fd = ::socket(address.ai_family, address.ai_socktype | SOCK_CLOEXEC, 0);
  if (fd < 0) return -1;
  if (::connect(fd, address.ai_addr, address.ai_addrlen) == 0) return fd;
  const int error = errno;
  ::close(fd);
  errno = error;
  return -1;
}

}  // namespace

Control::Control(int fd) : fd_(fd) {
  const int on = 1;
  ::setsockopt(fd_, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

Control::~Control() {
  if (fd_ >= 0) ::close(fd_);
}

Control Control::accept_one(uint16_t port) {
  const int listener = ::socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (listener < 0) system_failed("socket");
  const int on = 1;
  const int off = 0;
  ::setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
  ::setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off);
  sockaddr_in6 address{};
  address.sin6_family = AF_INET6;
  address.sin6_port = htons(port);
  if (::bind(listener, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
    system_failed(format("TCP port %u", port));
  if (::listen(listener, 1) != 0) system_failed("listen");
  const int fd = ::accept4(listener, nullptr, nullptr, SOCK_CLOEXEC);
  if (fd < 0) system_failed("accept");
  ::close(listener);
  return Control(fd);
}

Control Control::connect_to(const std::string& host, uint16_t port) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int error = ::getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (error != 0) setup_failed(host + ": " + ::gai_strerror(error));
  int fd = -1;
  for (const addrinfo* a = found; a != nullptr && fd < 0; a = a->ai_next) fd = try_connect(*a);
  ::freeaddrinfo(found);
  if (fd < 0) system_failed(format("%s, TCP port %u", host.c_str(), port));
  return Control(fd);
}

void Control::send_bytes(const void* bytes, size_t length) {
  const auto* at = static_cast<const uint8_t*>(bytes);
  while (length > 0) {
    const ssize_t n = ::send(fd_, at, length, MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) peer_lost("the control connection has ended");
    at += n;
    length -= static_cast<size_t>(n);
  }
}

void Control::receive_bytes(void* bytes, size_t length) {
  auto* at = static_cast<uint8_t*>(bytes);
  while (length > 0) {
    const ssize_t n = ::recv(fd_, at, length, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n <= 0) peer_lost("the control connection has ended");
    at += n;
    length -= static_cast<size_t>(n);
  }
}

void Control::barrier(uint32_t name) {
  send(name);
  const auto theirs = receive<uint32_t>();
  if (theirs != name) mismatch(format("out of step: we are at %u, the peer at %u", name, theirs));
}

bool Control::peer_gone(int wait_ms) const {
  // Data that came before the end may still be unread: only the end itself counts.
  pollfd waiting{fd_, POLLRDHUP, 0};
  return ::poll(&waiting, 1, wait_ms) > 0;
}

}  // namespace rc_verify
