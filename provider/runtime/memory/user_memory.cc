// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/memory/user_memory.h"

#include <cerrno>
#include <cstring>

#include "provider/runtime/memory/guarded_access.h"

namespace urxe {

Expected<void, Errno> read_user(void* to, const void* address, size_t bytes) {
  if (bytes == 0) return {};
  if (!guarded_access_works()) {
    std::memcpy(to, address, bytes);
    return {};
  }
  if (!guarded_access().read(to, address, bytes)) return error(EFAULT);
  return {};
}

Expected<void, Errno> read_user(void* to, uint64_t address, size_t bytes) {
  return read_user(to, reinterpret_cast<const void*>(address), bytes);
}

Expected<void, Errno> write_user(uint64_t address, const void* from, size_t bytes) {
  if (bytes == 0) return {};
  auto* to = reinterpret_cast<void*>(address);
  if (!guarded_access_works()) {
    std::memcpy(to, from, bytes);
    return {};
  }
  if (!guarded_access().write(to, from, bytes)) return error(EFAULT);
  return {};
}

}  // namespace urxe
