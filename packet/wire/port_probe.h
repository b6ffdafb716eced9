// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace urxe {

// A probe is a datagram that a process sends to its own address, to find out how the kernel shares
// port 4791 between the sockets of a host's processes. It cannot be taken for a RoCE packet. It
// names the member `index` of the group in the field where packets have the destination queue pair
// number. ClosedPorts sends probes to other hosts, which do not answer them.

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

}  // namespace urxe
