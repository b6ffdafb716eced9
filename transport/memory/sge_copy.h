// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "transport/memory/memory_region.h"

namespace urxe {

// Copies between packets and the memory behind scatter/gather lists. The copy begins `offset` bytes
// into the list. False: a key or range is not valid, guarded memory is not mapped, or the list is
// too short. Nothing behind that point was touched.

bool gather(const MemoryTable& memory, PdId pd, std::span<const Sge> list, uint64_t offset,
            std::span<uint8_t> out);
bool scatter(const MemoryTable& memory, PdId pd, std::span<const Sge> list, uint64_t offset,
             std::span<const uint8_t> data);

/// Where [offset, offset + length) of the list is, if it is one piece of mapped memory; nullptr: it
/// is to be copied. What is returned is good for as long as the device's lock is held.
const uint8_t* find_piece(const MemoryTable& memory, PdId pd, std::span<const Sge> list,
                          uint64_t offset, size_t length);

/// Whether every element of the list may be read, or written.
bool list_is_valid(const MemoryTable& memory, PdId pd, std::span<const Sge> list, bool write);

}  // namespace urxe
