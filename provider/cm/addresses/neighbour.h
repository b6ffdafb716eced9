// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/gid.h"

namespace urxe::cm {

/// What the kernel knows of an address on one of its links.
enum class NeighbourState : uint8_t {
  kUnknown,   ///< nothing, and it is not asking
  kAsking,    ///< has asked, and waits for an answer
  kKnown,     ///< a link address, be it an old one
  kNoAnswer,  ///< has asked in vain, now or earlier
};

/// EOPNOTSUPP and the like where the kernel cannot be asked that.
Expected<NeighbourState, Errno> neighbour_state(const Gid& address, uint32_t ifindex);

/// Makes the kernel ask for whoever stands first on the way to `destination`, by a datagram to the
/// discard port that gets no further than there: the kernel is asking when this returns. `source`
/// must be ours, `ifindex` the interface that the way begins with. Never blocks. The errno of
/// sendto(2).
Expected<void, Errno> ask_for_neighbour(const Gid& destination, const Gid& source,
                                        uint32_t ifindex);

/// Readable when a neighbour of any interface has changed.
Expected<FileDescriptor, Errno> watch_neighbours();
/// Reads all that is there.
void take_neighbour_changes(const FileDescriptor& watch);

}  // namespace urxe::cm
