// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <array>
#include <utility>
#include <vector>

#include "packet/host/file_descriptor.h"

namespace urxe {

/// UDP sockets for addresses that a process opens after it has become another user. The kernel lets
/// sockets share a port by the user who made them, and the sockets of the process's companions are
/// made by the user that it was. Only a process that can become another user by setuid(2), and so
/// on, has any: two of each family.
class SpareSockets {
 public:
  SpareSockets();

  /// Whether the process is another user than when this was made.
  [[nodiscard]] bool are_needed() const;
  [[nodiscard]] bool has(bool ipv4) const { return !of(ipv4).empty(); }
  /// None if the process is the user that it was, or there are none left.
  FileDescriptor take(bool ipv4);
  /// One that could not be bound.
  void give_back(bool ipv4, FileDescriptor socket) { of(ipv4).push_back(std::move(socket)); }

 private:
  std::vector<FileDescriptor>& of(bool ipv4) { return sockets_[ipv4 ? 1 : 0]; }
  [[nodiscard]] const std::vector<FileDescriptor>& of(bool ipv4) const {
    return sockets_[ipv4 ? 1 : 0];
  }

  uid_t user_;
  std::array<std::vector<FileDescriptor>, 2> sockets_;
};

/// A nonblocking UDP socket that has no address yet; of IPv6, it takes no IPv4 packets.
FileDescriptor open_udp_socket(bool ipv4);

}  // namespace urxe
