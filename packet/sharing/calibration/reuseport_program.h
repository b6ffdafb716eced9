// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "packet/base/expected.h"

namespace urxe {

/// The socket of `slot` is member `index` of the group.
struct GroupMember {
  uint32_t slot = 0;
  uint32_t index = 0;
  friend bool operator==(const GroupMember&, const GroupMember&) = default;
};

/// Replaces the classic BPF program by which the kernel selects a member of the group that `fd`, a
/// bound SO_REUSEPORT socket, belongs to. A probe goes to the index that it names; a packet to the
/// member whose slot is in its destination queue pair number (for a message to QP1: in the
/// communication id that it answers); requests to a random member; the rest by the kernel's hash.
Expected<void, Errno> attach_reuseport_program(int fd, std::span<const GroupMember> members);

}  // namespace urxe
