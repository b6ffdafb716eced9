// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/mman.h>

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace urxe::test {

/// Room for `bytes` bytes at addresses that mmap(2) gives to no caller that does not ask for them:
/// far below those where it looks for room itself. Memory that is unmapped there stays unmapped,
/// whatever the other threads of the process map meanwhile. No two calls return the same addresses.
inline void* own_addresses(size_t bytes) {
#if defined(__SANITIZE_THREAD__)
  // The lowest of the few ranges that ThreadSanitizer lets a program use.
  static std::atomic<uintptr_t> next{uintptr_t{1} << 38};
#elif defined(__aarch64__)
  // Also below those of a kernel whose addresses have 39 bits.
  static std::atomic<uintptr_t> next{uintptr_t{1} << 37};
#else
  static std::atomic<uintptr_t> next{uintptr_t{1} << 45};
#endif
  constexpr size_t kUnit = size_t{1} << 20;
  return reinterpret_cast<void*>(next.fetch_add((bytes / kUnit + 2) * kUnit));
}

/// Maps private anonymous memory at addresses of own_addresses(). MAP_FAILED if that is not
/// possible.
inline void* map_at_own_addresses(size_t bytes, int protection = PROT_READ | PROT_WRITE) {
  constexpr int kFlags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED_NOREPLACE;
  return ::mmap(own_addresses(bytes), bytes, protection, kFlags, -1, 0);
}

}  // namespace urxe::test
