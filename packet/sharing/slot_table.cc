// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/slot_table.h"

#include <fcntl.h>
#include <sys/mman.h>

#include <new>
#include <utility>

#include "packet/host/user_file.h"

namespace urxe {
namespace {

std::shared_ptr<SlotTable> private_table() {
  return std::shared_ptr<SlotTable>(new (std::nothrow) SlotTable{});
}

}  // namespace

std::shared_ptr<SlotTable> map_slot_table(const std::string& path) {
  const auto fd = open_own_file(path);
  if (!fd) return nullptr;
  // Allocated, not only sized: a full file system must fail here, not as SIGBUS later.
  if (posix_fallocate(fd->get(), 0, sizeof(SlotTable)) != 0) return nullptr;
  void* const memory =
      mmap(nullptr, sizeof(SlotTable), PROT_READ | PROT_WRITE, MAP_SHARED, fd->get(), 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* const table = static_cast<SlotTable*>(memory);
  table->in_file = 1;
  return {table, [](SlotTable* mapped) { munmap(mapped, sizeof *mapped); }};
}

std::shared_ptr<SlotTable> open_slot_table() {
  const auto network_namespace = network_namespace_number();
  if (!network_namespace) return private_table();
  std::shared_ptr<SlotTable> table;
  const bool found = try_user_files(*network_namespace, "qpn", [&](const std::string& path) {
    table = map_slot_table(path);
    return table != nullptr;
  });
  return found ? table : private_table();
}

}  // namespace urxe
