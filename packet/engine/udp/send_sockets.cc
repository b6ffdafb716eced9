// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/udp/send_sockets.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "packet/wire/types.h"

namespace urxe {
namespace {

constexpr unsigned kAttempts = 64;  ///< at finding a free port

/// The `attempt`-th port to try: the wanted one, then ones scattered over the range. The step is
/// odd, so no port comes twice.
uint16_t candidate(uint16_t wanted, unsigned attempt) {
  return source_port_by(wanted + attempt * 6689U);
}

}  // namespace

int SendSockets::find(uint16_t port) const {
  if (port == kRoceUdpPort) return receiver_;
  for (const Socket& socket : sockets_) {
    if (socket.port == port) return socket.fd.get();
  }
  return -1;
}

bool SendSockets::use_open(uint16_t port) {
  const auto same = std::ranges::find(sockets_, port, &Socket::port);
  if (same == sockets_.end()) return false;
  ++same->users;
  return true;
}

Expected<uint16_t, EngineError> SendSockets::claim(uint16_t wanted) {
  if (use_open(wanted)) return wanted;
  if (sockets_.size() >= max_sockets_) return share(wanted);
  auto opened = open_near(wanted);
  // Out of descriptors or ports: share one of the open sockets.
  if (!opened && !sockets_.empty()) return share(wanted);
  return opened;
}

Expected<uint16_t, EngineError> SendSockets::open_near(uint16_t wanted) {
  int errno_value = 0;
  for (unsigned attempt = 0; attempt < kAttempts; ++attempt) {
    const uint16_t port = candidate(wanted, attempt);
    // Another process has the wanted port: queue pairs that wanted it earlier share this one.
    if (use_open(port)) return port;
    const auto opened = open(port);
    if (opened) return port;
    errno_value = opened.error().value;
    if (errno_value != EADDRINUSE && errno_value != EACCES) break;
  }
  return Unexpected<EngineError>({errno_value, "no UDP source port to send from on " +
                                                   local_.to_string() + ": " +
                                                   std::strerror(errno_value)});
}

Expected<void, Errno> SendSockets::open(uint16_t port) {
  sockets_.reserve(sockets_.size() + 1);  // nothing may fail once the port is held
  const auto holder = ports_->hold(port);
  if (!holder) return error(holder.error().value);
  auto fd = open_send_socket(local_, port, *holder, options_);
  if (!fd) {
    ports_->release(port);
    return error(fd.error().value);
  }
  sockets_.push_back({port, 1, *std::move(fd)});
  return {};
}

uint16_t SendSockets::share(uint16_t wanted) {
  Socket& socket = sockets_[wanted % sockets_.size()];
  ++socket.users;
  return socket.port;
}

void SendSockets::release(uint16_t port) {
  const auto found = std::ranges::find(sockets_, port, &Socket::port);
  if (found == sockets_.end() || --found->users > 0) return;
  sockets_.erase(found);
  ports_->release(port);
}

void SendSockets::close() {
  for (const Socket& socket : sockets_) ports_->release(socket.port);
  sockets_.clear();
}

}  // namespace urxe
