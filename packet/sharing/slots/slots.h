// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <memory>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/sharing/calibration/program_pace.h"
#include "packet/sharing/directory/sharing_directory.h"
#include "packet/wire/qpn_layout.h"

namespace urxe {

/// The memory that a user's processes in one network namespace share about their slots; see
/// slot_table.h.
struct SlotTable;

/// A process's place among those that share an address: a number, 0 to 511, that no other process
/// of the user has in this network namespace. It is the upper part of all queue pair numbers that
/// the process gives out (packet/wire/qpn_layout.h). The process holds it through a lock, which the
/// kernel frees when the process ends, and has a unix socket to which other processes forward
/// packets. The child of a fork() holds the slot as well, until it closes the descriptors, calls
/// exec() or ends.
///
/// The next owner of a slot continues with the queue pair numbers where the last one stopped,
/// however that one ended. So a number comes back only after 32768 others, and a late packet for a
/// queue pair of a dead process finds no queue pair. The order of the numbers is secret.
class Slot {
 public:
  /// Takes the slot that has been free for longest, roughly. EUSERS: all 512 are taken; otherwise
  /// as SharingDirectory::here().
  static Expected<Slot, EngineError> acquire();
  static Expected<Slot, EngineError> acquire(const SharingDirectory& directory);
  /// As acquire(), for something that can do without. EUSERS: about half of the slots are taken, or
  /// more.
  static Expected<Slot, EngineError> acquire_spare();

  Slot(Slot&&) noexcept;
  Slot& operator=(Slot&&) noexcept;
  ~Slot();

  [[nodiscard]] uint32_t number() const { return number_; }
  /// Where it was taken.
  [[nodiscard]] const SharingDirectory& directory() const { return *directory_; }
  /// The socket that is bound to SharingDirectory::slot_name(): a nonblocking unix datagram socket.
  [[nodiscard]] int forward_fd() const { return fd_.get(); }

  /// Whether another process of the user has a slot, or this process has another one. True if that
  /// cannot be found out.
  [[nodiscard]] bool has_company() const;
  /// For a socket that is bound to `address`. This outlives it.
  [[nodiscard]] ProgramPace program_pace(const Gid& address) const;

  /// The lower 15 bits of the next queue pair number. Never leads to the special numbers 0, 1 and
  /// 0xFFFFFF. Indices repeat after some 32768 calls: the caller checks whether a number is still
  /// in use. Thread-safe.
  uint32_t next_index();
  /// A whole queue pair number.
  Qpn next_qpn() { return make_qpn(number_, next_index()); }

 private:
  Slot(uint32_t number, const SharingDirectory& directory, std::shared_ptr<SlotTable> table);
  Expected<void, EngineError> open_socket();

  uint32_t number_;
  const SharingDirectory* directory_;
  std::shared_ptr<SlotTable> table_;
  FileDescriptor lock_;
  FileDescriptor fd_;
};

}  // namespace urxe
