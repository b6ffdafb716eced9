// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

#include "packet/wire/qpn_layout.h"

namespace urxe {

/// The record of the slots of a user's processes in one network namespace. Lies in shared memory,
/// which begins as zeros.
struct SlotTable {
  std::atomic<uint32_t> next_slot;  ///< where the search for a free slot begins
  std::atomic<uint32_t> in_file;    ///< 1: lies in a file and so outlives the process
  /// By slot: the next queue pair index, in the lower 15 bits; 0 if the slot has never been used.
  /// Only the slot's owner writes here.
  std::array<std::atomic<uint32_t>, kSlots> next_index;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);

/// The table of the effective user and this network namespace. It is private to this process if no
/// directory takes the file, or if its name is taken by a file of another kind or user.
std::shared_ptr<SlotTable> open_slot_table();

/// Maps the file, and creates it if need be. Null if `path` is not a regular file that only the
/// effective user may open.
std::shared_ptr<SlotTable> map_slot_table(const std::string& path);

}  // namespace urxe
