// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"
#include "packet/host/unix_name.h"
#include "packet/wire/qpn_layout.h"

namespace urxe {

/// The name of the socket that holds a slot: of the effective user's processes, in this network
/// namespace.
UnixName slot_name(uint32_t slot);

/// What a user's processes remember of the slots in one network namespace: shared memory in a file
/// of the user, or memory of this process where no such file is to be had.
struct SlotTable;

/// A number that no other process of the user has in this network namespace, held for as long as
/// the process lives: the kernel frees it with the unix socket that bears its name. The child of a
/// fork holds it too until it closes the descriptor, calls exec or ends.
///
/// Queue pair numbers are made of it. A slot's next owner goes on counting where the last one
/// stopped, however that one ended, so a number comes back only after 32768 others: what is still
/// on its way to a dead process's queue pair finds no queue pair.
class Slot {
 public:
  /// The slot that has been out of use longest, roughly. EUSERS where all 512 are taken.
  static Expected<Slot, EngineError> acquire();

  Slot(Slot&&) noexcept;
  Slot& operator=(Slot&&) noexcept;
  ~Slot();

  [[nodiscard]] uint32_t number() const { return number_; }
  /// The slot's unix datagram socket, nonblocking.
  [[nodiscard]] int forward_fd() const { return fd_.get(); }

  /// The lower 15 bits of the next queue pair number. Never gives the special numbers 0, 1 and
  /// 0xFFFFFF. Comes round after some 32768 calls: whether a number is still in use, the caller
  /// knows. Any thread.
  uint32_t next_index();
  /// A whole queue pair number.
  Qpn next_qpn() { return make_qpn(number_, next_index()); }
  /// The slot's memory outlives the process; false: the numbers have begun at random.
  [[nodiscard]] bool remembers() const;

 private:
  Slot(uint32_t number, FileDescriptor fd, std::shared_ptr<SlotTable> table);

  uint32_t number_;
  FileDescriptor fd_;
  std::shared_ptr<SlotTable> table_;
};

}  // namespace urxe
