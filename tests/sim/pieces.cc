// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/pieces.h"

#include <infiniband/verbs.h>

#include <algorithm>

#include "tests/sim/failure.h"

namespace urxe::sim {

std::vector<Piece> split(Random& random, size_t offset, uint32_t length, uint32_t most_pieces) {
  std::vector<Piece> pieces;
  if (length == 0 && random.percent(50)) return pieces;
  uint32_t left = length;
  const uint32_t count = random.range32(1, most_pieces);
  for (uint32_t i = 0; i + 1 < count; ++i) {
    const auto piece = static_cast<uint32_t>(random.below(left + 1));
    pieces.push_back({offset, piece});
    offset += piece;
    left -= piece;
  }
  pieces.push_back({offset, left});
  if (random.percent(30)) std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

std::vector<Sge> sges_of(Memory& memory, const std::vector<Piece>& pieces, LKey lkey) {
  std::vector<Sge> sges;
  for (const Piece& piece : pieces) {
    sges.push_back({reinterpret_cast<uint64_t>(memory.at(piece.offset)), piece.length, lkey});
  }
  return sges;
}

uint32_t draw_length(Random& random, uint32_t mtu, uint32_t most) {
  uint32_t length = 0;
  switch (random.below(8)) {
    case 0:
      length = 0;
      break;
    case 1:
      length = random.range32(1, 16);
      break;
    case 2:
      length = mtu * random.range32(1, std::max(1U, most / mtu));
      break;
    case 3:
      length = mtu * random.range32(1, std::max(1U, most / mtu)) + random.range32(0, 2) - 1;
      break;
    case 4:
      length = random.range32(0, mtu);
      break;
    default:
      length = random.range32(0, most);
  }
  return std::min(length, most);
}

MemoryRegion* must_register(Device& device, Memory& memory, PdId pd, size_t offset, uint64_t length,
                            uint64_t iova, int access) {
  const auto region =
      device.register_memory(pd, memory.at(offset), length, iova, access, memory.draw_backing());
  require(region.has_value(), [] { return std::string("register_memory failed"); });
  return *region;
}

MemoryRegion* must_register_local(Device& device, Memory& memory, PdId pd, size_t offset,
                                  uint64_t length) {
  return must_register(device, memory, pd, offset, length,
                       reinterpret_cast<uint64_t>(memory.at(offset)), IBV_ACCESS_LOCAL_WRITE);
}

}  // namespace urxe::sim
