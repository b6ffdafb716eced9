// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <map>
#include <set>
#include <string>

namespace urxe::doctor {

/// A process that has a socket.
struct SocketOwner {
  pid_t pid = 0;
  std::string name;       ///< as the process has chosen it
  bool has_urxe = false;  ///< urxe's provider is loaded into it
};

/// The owners of sockets, by their inodes. Of other users' processes only root sees what they have.
/// Of several owners of one socket the first is told.
std::map<uint64_t, SocketOwner> find_socket_owners(const std::set<uint64_t>& inodes);

}  // namespace urxe::doctor
