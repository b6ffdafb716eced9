// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "packet/base/expected.h"

namespace urxe {

// A probe is a datagram that a process sends to its own address and that cannot be taken for a RoCE
// packet. It names the member `index` of the group in the field where packets have the destination
// queue pair number.

inline constexpr size_t kProbeBytes = 32;
inline constexpr uint8_t kProbeOpcode = 0xff;

struct Probe {
  uint32_t index = 0;   ///< 24 bits
  uint64_t token = 0;   ///< chosen by the prober
  uint32_t prober = 0;  ///< its slot
};
std::array<uint8_t, kProbeBytes> encode_probe(const Probe& probe);
/// Returns false if `bytes` are not a probe.
bool decode_probe(std::span<const uint8_t> bytes, Probe& probe);

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
