// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe::drill {

/// Of agents, unless told otherwise.
inline constexpr uint16_t kAgentPort = 18791;

struct Endpoint {
  std::string host;
  uint16_t port = kAgentPort;
};

/// HOST, HOST:PORT, an IPv6 address, or [ADDRESS]:PORT. The error is a line for the user.
Expected<Endpoint, std::string> parse_endpoint(const std::string& text);

/// A listening socket; port 0: any. The error is a line for the user.
Expected<FileDescriptor, std::string> listen_on(const Endpoint& endpoint);
/// The port that a socket is bound to.
uint16_t port_of(const FileDescriptor& socket);
/// Waits up to ten seconds. The error is a line for the user.
Expected<FileDescriptor, std::string> connect_to(const Endpoint& endpoint);
/// Waits for the next client. errno; after an error that passes it tries again.
Expected<FileDescriptor, Errno> accept_from(const FileDescriptor& listener);
/// "ADDRESS port PORT" of the other end of a connected socket.
std::string name_of_peer(const FileDescriptor& socket);

}  // namespace urxe::drill
