// SPDX-License-Identifier: BSD-2-Clause
#include "transport/memory/host_memory.h"

namespace urxe {

bool read_guarded(const GuardedAccess& access, const HostMemory& memory, std::span<uint8_t> out) {
  if (memory.kind == HostMemory::Kind::kNull) {
    std::memset(out.data(), 0, out.size());
    return true;
  }
  return memory.kind == HostMemory::Kind::kGuarded && access.read != nullptr &&
         access.read(out.data(), memory.at, out.size());
}

bool write_guarded(const GuardedAccess& access, const HostMemory& memory,
                   std::span<const uint8_t> data) {
  if (memory.kind == HostMemory::Kind::kNull) return true;
  return memory.kind == HostMemory::Kind::kGuarded && access.write != nullptr &&
         access.write(memory.at, data.data(), data.size());
}

URXE_NO_SANITIZE_THREAD
bool write_in_order(const GuardedAccess& access, const HostMemory& memory,
                    std::span<const uint8_t> data) {
  const size_t before_last = data.size() - 1;
  if (memory.kind != HostMemory::Kind::kPlain) {
    const HostMemory last{memory.at + before_last, memory.kind};
    return (before_last == 0 || write_guarded(access, memory, data.first(before_last))) &&
           write_guarded(access, last, data.last(1));
  }
  std::memcpy(memory.at, data.data(), before_last);
  __atomic_store_n(memory.at + before_last, data.back(), __ATOMIC_RELEASE);
  return true;
}

}  // namespace urxe
