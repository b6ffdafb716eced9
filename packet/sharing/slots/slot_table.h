// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

#include "packet/base/expected.h"
#include "packet/base/siphash.h"
#include "packet/sharing/calibration/program_pace.h"
#include "packet/sharing/directory/sharing_directory.h"
#include "packet/wire/qpn_layout.h"

namespace urxe {

/// The record of the slots of a user's processes in one network namespace. Lies in the file "slots"
/// of their SharingDirectory.
struct SlotTable {
  /// Decides the order of queue pair numbers, and the SlotMarks; no other user knows it.
  SipKey secret;
  std::atomic<uint32_t> next_slot;  ///< where the search for a free slot begins
  /// By slot: how many queue pair numbers were given out. Only the slot's owner writes here.
  std::array<std::atomic<uint32_t>, kSlots> given;
  ProgramTable programs;
};
static_assert(std::atomic<uint32_t>::is_always_lock_free);
static_assert(std::atomic<int64_t>::is_always_lock_free);

/// Fills an empty file. Returns 0 or the errno.
int make_slot_table(int fd);
/// From the table in the open directory. EINVAL: the file is too short; otherwise as open(2).
Expected<SipKey, Errno> read_slot_secret(int directory);

/// EINVAL: the file is too short; EMFILE, ENFILE, ENOMEM.
Expected<std::shared_ptr<SlotTable>, Errno> open_slot_table(const SharingDirectory& directory);

}  // namespace urxe
