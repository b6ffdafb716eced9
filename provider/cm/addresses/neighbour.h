// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/gid.h"

namespace urxe::cm {

/// What the kernel knows of a neighbour's address.
enum class NeighbourState : uint8_t {
  kUnknown,   ///< nothing, and it is not asking
  kAsking,    ///< has asked, and waits for an answer
  kKnown,     ///< its link address, or an old one
  kNoAnswer,  ///< it did not respond
};

/// EOPNOTSUPP and the like: the kernel cannot be asked.
Expected<NeighbourState, Errno> neighbour_state(const Gid& address, uint32_t ifindex);

/// Makes the kernel send a request for the first hop to `destination`, by sending a datagram to the
/// discard port with a time to live of 1. The kernel is asking when this returns. `source` must be
/// an address of this host, `ifindex` the outgoing interface. Never blocks. The errno of sendto(2).
Expected<void, Errno> ask_for_neighbour(const Gid& destination, const Gid& source,
                                        uint32_t ifindex);

/// A descriptor that is readable when a neighbour of any interface has changed.
Expected<FileDescriptor, Errno> watch_neighbours();
/// Reads and drops all reports of changes.
void take_neighbour_changes(const FileDescriptor& watch);

}  // namespace urxe::cm
