// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"
#include "packet/engine/raw/frame.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

/// How frames get to a destination, as the kernel's routes and neighbours tell.
struct LinkRoute {
  enum class Kind : uint8_t {
    kFrames,      ///< by frames with the addresses below
    kUnresolved,  ///< as above, but the kernel does not know the neighbour's address yet
    kOther,       ///< this host, a group, another interface, no route, a tunnel: not by frames
  };
  Kind kind = Kind::kOther;
  bool confirmed = false;  ///< the kernel knows that the neighbour was there lately
  MacAddress to{};
  MacAddress from{};
  uint32_t mtu = 0;  ///< the largest IP packet

  friend bool operator==(const LinkRoute&, const LinkRoute&) = default;
};

/// Asks the kernel how packets of a flow would leave by an interface.
class LinkRouteQuery {
 public:
  /// Asks in the calling thread's network namespace, now and later.
  static Expected<LinkRouteQuery, Errno> open(uint32_t ifindex);

  /// Takes some ten microseconds. Errors of the kernel and of memory make it Kind::kOther.
  [[nodiscard]] LinkRoute find(const Flow& flow) const noexcept;

 private:
  LinkRouteQuery(FileDescriptor fd, uint32_t ifindex) : fd_(std::move(fd)), ifindex_(ifindex) {}
  [[nodiscard]] LinkRoute ask(const Flow& flow) const;
  [[nodiscard]] bool ask_link(LinkRoute& route) const;
  void ask_neighbour(const Gid& next_hop, LinkRoute& route) const;

  FileDescriptor fd_;
  uint32_t ifindex_;
};

}  // namespace urxe
