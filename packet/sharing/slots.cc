// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/slots.h"

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>
#include <utility>

#include "packet/host/random.h"
#include "packet/sharing/slot_table.h"

namespace urxe {
namespace {

constexpr int kForwardBufferBytes = 4 << 20;  ///< the kernel cuts it to net.core.wmem_max

Expected<FileDescriptor, Errno> open_forward_socket() {
  auto fd = open_unix_socket();
  if (fd) {
    setsockopt(fd->get(), SOL_SOCKET, SO_SNDBUF, &kForwardBufferBytes, sizeof kForwardBufferBytes);
  }
  return fd;
}

bool bind_slot(int fd, uint32_t slot) {
  const UnixName name = slot_name(slot);
  return bind(fd, name.get(), name.size) == 0;
}

EngineError failed_call(const char* call, int errno_value) {
  return {errno_value,
          std::string("no slot for this process: ") + call + ": " + std::strerror(errno_value)};
}

bool is_special(uint32_t slot, uint32_t index) {
  const uint32_t qpn = make_qpn(slot, index).value();
  return qpn <= 1 || qpn == kMulticastQpn;
}

}  // namespace

UnixName slot_name(uint32_t slot) {
  return abstract_name("urxe/%u/slot/%u", geteuid(), slot);
}

Slot::Slot(uint32_t number, FileDescriptor fd, std::shared_ptr<SlotTable> table)
    : number_(number), fd_(std::move(fd)), table_(std::move(table)) {
  std::atomic<uint32_t>& next = table_->next_index[number_];
  // The bit above the index distinguishes "starts at index 0" from "never used".
  if (next == 0) next = static_cast<uint32_t>(random_number() % kQpIndices + kQpIndices);
}

Slot::Slot(Slot&&) noexcept = default;
Slot& Slot::operator=(Slot&&) noexcept = default;
Slot::~Slot() = default;

Expected<Slot, EngineError> Slot::acquire() {
  auto fd = open_forward_socket();
  if (!fd) return Unexpected<EngineError>(failed_call("socket", fd.error().value));
  std::shared_ptr<SlotTable> table = open_slot_table();
  if (!table) return Unexpected<EngineError>({ENOMEM, "no slot for this process: out of memory"});
  const bool shared = table->in_file != 0;
  const uint32_t first = shared ? table->next_slot.load() : static_cast<uint32_t>(random_number());
  for (uint32_t i = 0; i < kSlots; ++i) {
    const uint32_t number = (first + i) % kSlots;
    if (bind_slot(fd->get(), number)) {
      // Round robin: the slots freed last are looked at last.
      table->next_slot = number + 1;
      return Slot(number, *std::move(fd), std::move(table));
    }
    if (errno != EADDRINUSE) return Unexpected<EngineError>(failed_call("bind", errno));
  }
  return Unexpected<EngineError>(
      {EUSERS,
       "all 512 slots of this user in this network namespace are taken: each process that has a "
       "urxe device open holds one. What to do: end some of them (\"ss -xlp\" and \"ss -xap\" list "
       "the holders of @urxe/...)"});
}

uint32_t Slot::next_index() {
  for (;;) {
    const uint32_t index = table_->next_index[number_].fetch_add(1) % kQpIndices;
    if (!is_special(number_, index)) return index;
  }
}

bool Slot::remembers() const {
  return table_->in_file != 0;
}

}  // namespace urxe
