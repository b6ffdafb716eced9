// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "packet/wire/gid.h"
#include "tools/doctor/finding.h"
#include "tools/doctor/socket_owner.h"

namespace urxe::doctor {

/// A socket that is bound to UDP port 4791.
struct PortSocket {
  Gid address;
  bool is_wildcard = false;  ///< bound to all addresses
  uid_t user = 0;
  uint64_t inode = 0;
};

/// Who has UDP port 4791 in this network namespace.
struct PortFacts {
  std::string lack;  ///< why the kernel's tables cannot be read; empty: they can
  std::vector<PortSocket> sockets;
  std::map<uint64_t, SocketOwner> owners;  ///< by inode
  uid_t user = 0;                          ///< who runs this program

  /// Whether no process has the socket, although root sees all of them: those of containers apart,
  /// which do not bind to all addresses.
  [[nodiscard]] bool is_kernels(const PortSocket& socket) const;
};

PortFacts read_port();

/// `addresses`: of all devices.
Findings judge_port(const PortFacts& facts, const std::vector<Gid>& addresses);

/// The sockets of the port in the text of /proc/net/udp or /proc/net/udp6.
std::vector<PortSocket> parse_udp_table(const std::string& text);

}  // namespace urxe::doctor
