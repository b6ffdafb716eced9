// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packet/base/expected.h"
#include "packet/engine/file_descriptor.h"
#include "provider/cm/addresses.h"

namespace urxe::cm {

// Who holds a port is told by abstract unix names of the network namespace:
//
//   urxe/<euid>/port/<space>/<port>/<address>          one that shares the port with nobody
//   urxe/<euid>/port/<space>/<port>/<address>/<number> one that may share it; the number is random
//   urxe/<euid>/port/<space>/<port>/lock               held while somebody looks and takes
//
// <space> is the port space in hexadecimal; <address> "192.0.2.1", "2001:db8::1", "fe80::1%2", or
// of all addresses "0.0.0.0", "::" and "::+only" (IPv6 without IPv4).

/// One that holds a port, or wants to.
struct PortHolder {
  uint16_t port = 0;    ///< not 0
  std::string address;  ///< as in the name
  bool may_share = false;
};

/// As in a name. `af_only` matters for all IPv6 addresses only.
std::string address_in_name(const Address& address, bool af_only);

/// Whether the two cannot have the port at the same time: they have an address in common, and not
/// both may share. Ports are not compared.
bool conflict(const PortHolder& a, const PortHolder& b);

/// The socket that bears the holder's name. EADDRINUSE: somebody bears it; EMFILE and the like.
Expected<FileDescriptor, Errno> bind_name(PortSpace space, const PortHolder& holder);

/// The right to look and take: whoever is in the middle of that is waited for, but not for ever.
/// EADDRINUSE: for too long (half a second).
Expected<FileDescriptor, Errno> lock_port(PortSpace space, uint16_t port);

/// Whether somebody holds the port on all addresses, and shares it with nobody. A few system calls.
bool is_held_on_all_addresses(PortSpace space, uint16_t port);

/// All that hold a port of the space, whoever they are in this network namespace. Reads
/// /proc/net/unix; where that cannot be read nobody is seen.
std::vector<PortHolder> list_holders(PortSpace space);

/// What a line of /proc/net/unix says; nullopt: nothing of ours.
std::optional<PortHolder> parse_holder(PortSpace space, std::string_view line);

}  // namespace urxe::cm
