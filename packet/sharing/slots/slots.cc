// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/slots/slots.h"

#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "packet/host/byte_lock.h"
#include "packet/sharing/slots/index_order.h"
#include "packet/sharing/slots/slot_table.h"

namespace urxe {
namespace {

constexpr int kForwardBufferBytes = 4 << 20;  ///< the kernel cuts it to net.core.wmem_max
/// acquire_spare() looks at one of so many slots.
constexpr uint32_t kSample = 8;

Unexpected<EngineError> failure(const std::string& what, int errno_value) {
  return Unexpected<EngineError>(
      {errno_value, "no slot for this process: " + what + ": " + std::strerror(errno_value)});
}

bool is_special(uint32_t slot, uint32_t index) {
  const uint32_t qpn = make_qpn(slot, index).value();
  return qpn <= 1 || qpn == kMulticastQpn;
}

}  // namespace

Slot::Slot(uint32_t number, const SharingDirectory& directory, std::shared_ptr<SlotTable> table)
    : number_(number), directory_(&directory), table_(std::move(table)) {}

Slot::Slot(Slot&&) noexcept = default;
Slot& Slot::operator=(Slot&&) noexcept = default;
// The socket's file stays, for the next owner to replace: in a forked child it is the parent's.
Slot::~Slot() = default;

Expected<Slot, EngineError> Slot::acquire() {
  const auto directory = SharingDirectory::here();
  if (!directory) return Unexpected<EngineError>(directory.error());
  return acquire(**directory);
}

Expected<Slot, EngineError> Slot::acquire(const SharingDirectory& directory) {
  auto table = open_slot_table(directory);
  if (!table) return failure(directory.path() + "/slots", table.error().value);
  auto lock = directory.open_file("locks");
  if (!lock) return failure(directory.path() + "/locks", lock.error().value);
  const uint32_t first = (*table)->next_slot;
  for (uint32_t i = 0; i < kSlots; ++i) {
    const uint32_t number = (first + i) % kSlots;
    const int taken = lock_byte(lock->get(), directory.slot_lock(number), ByteLock::kExclusive);
    if (taken == EAGAIN) continue;
    if (taken != 0) return failure(directory.path() + "/locks", taken);
    // Round robin: the slots freed last are looked at last.
    (*table)->next_slot = number + 1;
    Slot slot(number, directory, *std::move(table));
    slot.lock_ = *std::move(lock);
    if (auto opened = slot.open_socket(); !opened) return Unexpected<EngineError>(opened.error());
    return slot;
  }
  return Unexpected<EngineError>(
      {EUSERS,
       "all 512 slots of this user in this network namespace are taken: each process that "
       "has a urxe device open holds one, and one more for each further thread that has made queue "
       "pairs (not with `urxe run --lanes 1`). What to do: end some of them (\"ss -xap\" lists "
       "the holders of " +
           directory.path() + "/slot-...)"});
}

Expected<Slot, EngineError> Slot::acquire_spare() {
  const auto directory = SharingDirectory::here();
  if (!directory) return Unexpected<EngineError>(directory.error());
  auto lock = (*directory)->open_file("locks");
  if (!lock) return failure((*directory)->path() + "/locks", lock.error().value);
  uint32_t taken = 0;
  for (uint32_t number = 0; number < kSlots; number += kSample) {
    if (is_byte_locked(lock->get(), (*directory)->slot_lock(number))) ++taken;
  }
  if (taken >= kSlots / kSample / 2) {
    return Unexpected<EngineError>({EUSERS, "half of the slots of this user are taken"});
  }
  return acquire(**directory);
}

Expected<void, EngineError> Slot::open_socket() {
  const UnixName name = directory_->slot_name(number_);
  auto fd = open_named_socket(name);
  if (!fd) return failure(std::string(name.path()), fd.error().value);
  setsockopt(fd->get(), SOL_SOCKET, SO_SNDBUF, &kForwardBufferBytes, sizeof kForwardBufferBytes);
  fd_ = *std::move(fd);
  return {};
}

bool Slot::has_company() const {
  return is_any_byte_locked(lock_.get(), SlotMarks::kLocks, SlotMarks::kLockCount);
}

ProgramPace Slot::program_pace(const Gid& address) const {
  return {table_->programs, address};
}

uint32_t Slot::next_index() {
  for (;;) {
    const uint32_t place = table_->given[number_].fetch_add(1);
    const uint32_t index = index_at(table_->secret, number_, place);
    if (!is_special(number_, index)) return index;
  }
}

}  // namespace urxe
