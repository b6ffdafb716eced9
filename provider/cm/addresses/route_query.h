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

/// By the kernel's tables, as of now. `source`: the address that packets come from, where that is
/// settled; `ifindex` 0: any interface. ENETUNREACH; EHOSTUNREACH, EACCES, EINVAL: an unreachable,
/// a prohibited, a black-holed one; ENODEV: no such interface; EMFILE and the like.
Expected<Route, Errno> find_route(const Gid& destination, const std::optional<Gid>& source,
                                  uint32_t ifindex);

/// Whether packets on the interface need the link address of whom they are for: not on loopback and
/// point-to-point ones. False where there is no such interface.
bool has_neighbours(uint32_t ifindex);

}  // namespace urxe::cm
