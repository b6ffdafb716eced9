// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "packet/host/file_descriptor.h"
#include "packet/wire/ip/ip_network.h"

namespace urxe {

/// What an engine needs of a kernel that has the interface, and its addresses, too: it must not
/// answer packets with "port unreachable", and must tell of groups.
class KernelSockets {
 public:
  explicit KernelSockets(uint32_t interface_index) : interface_index_(interface_index) {}

  /// Takes UDP port 4791 of the address and drops what comes there. Where another program has it,
  /// that one keeps the kernel from answering.
  void silence(const Gid& address);
  void stop_silencing(const Gid& address);
  /// False: the kernel cannot join, errno tells why.
  bool join(const Gid& group);
  void leave(const Gid& group);

 private:
  struct Silent {
    Gid address;
    FileDescriptor fd;
  };
  struct Member {
    Gid group;
    FileDescriptor fd;
  };

  uint32_t interface_index_;
  std::vector<Silent> silent_;
  std::vector<Member> members_;
};

/// The address and its network as an interface of the kernel has them; nullopt: none has it.
std::optional<IpNetwork> find_network(const Gid& address, uint32_t interface_index);

}  // namespace urxe
