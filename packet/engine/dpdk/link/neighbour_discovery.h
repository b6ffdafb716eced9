// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>

#include "packet/engine/dpdk/link/icmpv6.h"

namespace urxe {

/// A neighbour solicitation or advertisement (RFC 4861, sections 4.3 and 4.4).
struct NeighbourMessage {
  bool is_solicitation = false;
  Gid source;  ///< zero: an address that its host is still testing
  Gid destination;
  Gid target;
  std::optional<MacAddress> link_address;  ///< of the source or the target
  bool solicited = false;                  ///< advertisements: in answer to a solicitation
  bool overrides = true;                   ///< advertisements: what others know is old
};

/// Nullopt: no such message, or one that section 7.1 of the RFC tells to drop.
std::optional<NeighbourMessage> parse_neighbour_message(const Icmpv6Message& message);

/// The message in a frame.
ControlFrame make_neighbour_message(const NeighbourMessage& message, const MacAddress& to,
                                    const MacAddress& from);

/// The group that every host with the address listens to.
Gid solicited_node_group(const Gid& address);

/// ff02::1
Gid all_nodes_group();

}  // namespace urxe
