// SPDX-License-Identifier: BSD-2-Clause
#include "transport/memory/sge_copy.h"

#include <algorithm>

namespace urxe {
namespace {

/// Calls `copy(memory, bytes)` for each piece of [offset, offset + length) of the list.
template <class Copy>
bool for_each_piece(const MemoryTable& memory, PdId pd, std::span<const Sge> list, uint64_t offset,
                    size_t length, bool write, Copy copy) {
  for (const Sge& sge : list) {
    if (length == 0) break;
    if (offset >= sge.length) {
      offset -= sge.length;
      continue;
    }
    const size_t bytes = std::min<size_t>(length, sge.length - offset);
    const Sge piece{sge.addr + offset, static_cast<uint32_t>(bytes), sge.lkey};
    const HostMemory host = memory.local(pd, piece, write);
    if (!host || !copy(host, bytes)) return false;
    length -= bytes;
    offset = 0;
  }
  return length == 0;
}

}  // namespace

bool gather(const MemoryTable& memory, PdId pd, std::span<const Sge> list, uint64_t offset,
            std::span<uint8_t> out) {
  uint8_t* to = out.data();
  return for_each_piece(memory, pd, list, offset, out.size(), false,
                        [&](const HostMemory& host, size_t bytes) {
                          const bool read = read_memory(memory.guarded(), host, {to, bytes});
                          to += bytes;
                          return read;
                        });
}

bool scatter(const MemoryTable& memory, PdId pd, std::span<const Sge> list, uint64_t offset,
             std::span<const uint8_t> data) {
  const uint8_t* from = data.data();
  return for_each_piece(memory, pd, list, offset, data.size(), true,
                        [&](const HostMemory& host, size_t bytes) {
                          const bool written = write_memory(memory.guarded(), host, {from, bytes});
                          from += bytes;
                          return written;
                        });
}

const uint8_t* find_piece(const MemoryTable& memory, PdId pd, std::span<const Sge> list,
                          uint64_t offset, size_t length) {
  const uint8_t* found = nullptr;
  for_each_piece(memory, pd, list, offset, length, false,
                 [&](const HostMemory& host, size_t bytes) {
                   if (host.kind == HostMemory::Kind::kPlain && bytes == length) found = host.at;
                   return false;
                 });
  return found;
}

bool list_is_valid(const MemoryTable& memory, PdId pd, std::span<const Sge> list, bool write) {
  return std::ranges::all_of(
      list, [&](const Sge& sge) { return sge.length == 0 || memory.local(pd, sge, write); });
}

}  // namespace urxe
