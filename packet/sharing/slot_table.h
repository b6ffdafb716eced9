// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "packet/wire/qpn_layout.h"

namespace urxe {

/// Lies in shared memory, which begins as zeros.
struct SlotTable {
  std::atomic<uint32_t> next_slot;  ///< where the search for a free slot begins
  std::atomic<uint32_t> in_file;    ///< 1: outlives the process
  /// By slot: the next QP index in the lower 15 bits; 0: the slot has never been used. Written by
  /// the slot's owner only.
  std::array<std::atomic<uint32_t>, kSlots> next_index;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// The user's table for this network namespace. Where no directory takes the file (or somebody else
/// has put something there), memory of this process.
std::shared_ptr<SlotTable> open_slot_table();

/// Opens or makes the file; null where `path` is not a regular file of the effective user alone.
std::shared_ptr<SlotTable> map_slot_table(const std::string& path);

}  // namespace urxe
