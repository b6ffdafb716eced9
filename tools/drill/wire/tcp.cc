// SPDX-License-Identifier: BSD-2-Clause
#include "tools/drill/wire/tcp.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <memory>

#include "packet/host/socket_address.h"
#include "tools/drill/vocabulary.h"

namespace urxe::drill {
namespace {

constexpr timeval kConnectLimit{10, 0};
constexpr int kWaitingClients = 4;

using Addresses = std::unique_ptr<addrinfo, decltype(&freeaddrinfo)>;

Expected<Addresses, std::string> resolve(const Endpoint& endpoint, int flags) {
  addrinfo hints{};
  hints.ai_family = AF_UNSPEC;
  hints.ai_socktype = SOCK_STREAM;
  hints.ai_flags = flags | AI_NUMERICSERV;
  addrinfo* found = nullptr;
  const std::string port = std::to_string(endpoint.port);
  const int wrong = getaddrinfo(endpoint.host.c_str(), port.c_str(), &hints, &found);
  if (wrong == 0) return Addresses(found, &freeaddrinfo);
  return Unexpected<std::string>(fmt::format("{}: {}", endpoint.host, gai_strerror(wrong)));
}

/// A socket on which `use(fd, address)` returns 0, of the first address for which it does.
template <class Use>
Expected<FileDescriptor, std::string> open_stream(const Endpoint& endpoint, int flags, Use use) {
  const auto addresses = resolve(endpoint, flags);
  if (!addresses) return Unexpected<std::string>(addresses.error());
  int errno_value = 0;
  for (const addrinfo* at = addresses->get(); at != nullptr; at = at->ai_next) {
    FileDescriptor fd(socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (fd && use(fd.get(), *at) == 0) return fd;
    errno_value = errno;
  }
  if (errno_value == EINPROGRESS) errno_value = ETIMEDOUT;  // what SO_SNDTIMEO makes of it
  if (errno_value == ECONNREFUSED) {
    return Unexpected<std::string>(
        fmt::format("nobody listens at {} port {}", endpoint.host, endpoint.port));
  }
  return Unexpected<std::string>(
      fmt::format("{} port {}: {}", endpoint.host, endpoint.port, std::strerror(errno_value)));
}

void set(int fd, int level, int option, int value) {
  setsockopt(fd, level, option, &value, sizeof value);
}

}  // namespace

Expected<Endpoint, std::string> parse_endpoint(const std::string& text) {
  Endpoint endpoint{text};
  const auto colons = std::count(text.begin(), text.end(), ':');
  std::string port;
  if (text.starts_with('[')) {
    const size_t bracket = std::min(text.find(']'), text.size() - 1);
    endpoint.host = text.substr(1, bracket - 1);
    const bool has_port = bracket + 1 < text.size();
    if (text[bracket] != ']' || (has_port && text[bracket + 1] != ':')) endpoint.host.clear();
    port = has_port ? text.substr(bracket + 2) : std::to_string(kAgentPort);
  } else if (colons == 1) {
    endpoint.host = text.substr(0, text.find(':'));
    port = text.substr(text.find(':') + 1);
  } else {
    port = std::to_string(kAgentPort);
  }
  const auto number = parse_number(port);
  if (endpoint.host.empty() || !number || *number == 0 || *number > 65535) {
    return Unexpected<std::string>(text + ": not HOST, HOST:PORT or [ADDRESS]:PORT");
  }
  endpoint.port = static_cast<uint16_t>(*number);
  return endpoint;
}

Expected<FileDescriptor, std::string> listen_on(const Endpoint& endpoint) {
  return open_stream(endpoint, AI_PASSIVE, [](int fd, const addrinfo& at) {
    set(fd, SOL_SOCKET, SO_REUSEADDR, 1);
    if (bind(fd, at.ai_addr, at.ai_addrlen) != 0) return -1;
    return listen(fd, kWaitingClients);
  });
}

uint16_t port_of(const FileDescriptor& socket) {
  SocketAddress address;
  socklen_t size = SocketAddress::kCapacity;
  return getsockname(socket.get(), address.get(), &size) == 0 ? address.port() : uint16_t{0};
}

Expected<FileDescriptor, std::string> connect_to(const Endpoint& endpoint) {
  return open_stream(endpoint, 0, [](int fd, const addrinfo& at) {
    setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &kConnectLimit, sizeof kConnectLimit);
    set(fd, IPPROTO_TCP, TCP_NODELAY, 1);
    return connect(fd, at.ai_addr, at.ai_addrlen);
  });
}

std::string name_of_peer(const FileDescriptor& socket) {
  SocketAddress address;
  socklen_t size = SocketAddress::kCapacity;
  if (getpeername(socket.get(), address.get(), &size) != 0) return "an unknown address";
  return fmt::format("{} port {}", address.gid().to_string(), address.port());
}

Expected<FileDescriptor, Errno> accept_from(const FileDescriptor& listener) {
  for (;;) {
    FileDescriptor fd(accept4(listener.get(), nullptr, nullptr, SOCK_CLOEXEC));
    if (fd) {
      set(fd.get(), IPPROTO_TCP, TCP_NODELAY, 1);
      return fd;
    }
    if (errno != EINTR && errno != ECONNABORTED) return error(errno);
  }
}

}  // namespace urxe::drill
