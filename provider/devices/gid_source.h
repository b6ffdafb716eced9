// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "packet/wire/gid.h"

namespace urxe {

/// A network interface of this network namespace, as rtnetlink tells it.
struct Interface {
  std::string name;
  uint32_t ifindex = 0;
  uint32_t mtu = 0;          ///< bytes
  bool up = false;           ///< administratively
  bool link_up = false;      ///< has a carrier
  bool is_loopback = false;  ///< lo
  bool is_virtual = false;   ///< lo, veth, bridge, ...: no hardware of its own
  /// A bridge, a bond or the like receives its frames. False for an interface in a VRF.
  bool is_port = false;
  std::optional<std::array<uint8_t, 6>> mac;  ///< none if it has none or it is zero
  std::vector<Gid> gids;                      ///< in the order of the GID table
};

/// One address of an interface before it is put in order.
struct InterfaceAddress {
  Gid gid;
  bool usable = true;  ///< false while duplicate address detection runs or if it has failed
};

/// The GID table of an interface: its first link-local IPv6 address, then its IPv4 addresses, then
/// its other IPv6 addresses, each in the order given; unusable ones and repetitions left out.
std::vector<Gid> order_gids(const std::vector<InterfaceAddress>& addresses);

/// The table `old` after the interface's GIDs have become `now`. GIDs that remain keep their
/// indexes, entries of GIDs that are gone become zero, and new GIDs take the first zero entries or
/// follow after the last. At most `length` entries, the last one not zero.
std::vector<Gid> merge_gids(std::vector<Gid> old, const std::vector<Gid>& now, size_t length);

/// All interfaces of the calling thread's network namespace in the order of their indexes. The
/// error is a sentence for the user.
Expected<std::vector<Interface>, std::string> list_interfaces();

}  // namespace urxe
