// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "packet/base/expected.h"
#include "packet/wire/gid.h"

namespace urxe::cm {

/// How this host's packets get to an address.
struct Route {
  enum class Kind : uint8_t { kUnicast, kLocal, kMulticast };
  Kind kind = Kind::kUnicast;
  uint32_t ifindex = 0;
  std::optional<Gid> source;   ///< that the kernel would choose
  std::optional<Gid> gateway;  ///< none: the destination is on the link
};

/// Asks the kernel's routing tables. `source`: the packets' source address, if it is known;
/// `ifindex` 0: any interface. ENETUNREACH: there is no route; EHOSTUNREACH, EACCES, EINVAL: the
/// route is of the type unreachable, prohibit, blackhole; ENODEV: no such interface; EMFILE and the
/// like.
Expected<Route, Errno> find_route(const Gid& destination, const std::optional<Gid>& source,
                                  uint32_t ifindex);

/// Whether packets on the interface need a neighbour's link address. False for loopback and
/// point-to-point interfaces, and if there is no such interface.
bool has_neighbours(uint32_t ifindex);

}  // namespace urxe::cm
