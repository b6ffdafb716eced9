// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <span>

#include "packet/base/expected.h"

namespace urxe {

// A probe is a datagram to our own address that no RoCE packet can be taken for: it asks for the
// group's member `index` by the field where packets have the destination QP number.

inline constexpr size_t kProbeBytes = 32;
inline constexpr uint8_t kProbeOpcode = 0xff;

struct Probe {
  uint32_t index = 0;   ///< 24 bits
  uint64_t token = 0;   ///< chosen by the prober
  uint32_t prober = 0;  ///< its slot
};
std::array<uint8_t, kProbeBytes> encode_probe(const Probe& probe);
/// False where `bytes` are not a probe.
bool decode_probe(std::span<const uint8_t> bytes, Probe& probe);

/// The socket of `slot` is member `index` of the group.
struct GroupMember {
  uint32_t slot = 0;
  uint32_t index = 0;
  friend bool operator==(const GroupMember&, const GroupMember&) = default;
};

/// Replaces the program of the group that `fd`, a bound SO_REUSEPORT socket, is in: probes go to
/// the index that they ask for, packets of the `members`' slots to their index (to QP1: most
/// answers of connection managers), all others to whom the kernel chooses by hash.
Expected<void, Errno> attach_reuseport_program(int fd, std::span<const GroupMember> members);

}  // namespace urxe
