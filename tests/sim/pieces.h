// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

#include "tests/sim/memory.h"
#include "tests/support/random.h"
#include "transport/device/device.h"
#include "transport/memory/memory_region.h"

namespace urxe::sim {

/// A range of a host's memory: one element of a scatter/gather list.
struct Piece {
  size_t offset = 0;
  uint32_t length = 0;
};

/// Cuts a range into 1 to `most_pieces`, not always in the order of addresses. An empty range may
/// become none at all.
std::vector<Piece> split(Random& random, size_t offset, uint32_t length, uint32_t most_pieces);

std::vector<Sge> sges_of(Memory& memory, const std::vector<Piece>& pieces, LKey lkey);

/// A length of 0 to `most` bytes, often one at the border of a packet of `mtu`.
uint32_t draw_length(Random& random, uint32_t mtu, uint32_t most);

MemoryRegion* must_register(Device& device, Memory& memory, PdId pd, size_t offset, uint64_t length,
                            uint64_t iova, int access);
/// For local use, addressed by its place in the host.
MemoryRegion* must_register_local(Device& device, Memory& memory, PdId pd, size_t offset,
                                  uint64_t length);

}  // namespace urxe::sim
