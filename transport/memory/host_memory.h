// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

namespace urxe {

/// For functions with atomic instructions on the application's memory: ThreadSanitizer does not
/// watch them. Its munmap() unmaps what it has noted about atomics there before anyone else learns
/// that the memory goes, and an atomic that it watches would then end the process.
#if defined(__SANITIZE_THREAD__)
#define URXE_NO_SANITIZE_THREAD __attribute__((no_sanitize("thread"), noinline))
#else
#define URXE_NO_SANITIZE_THREAD
#endif

/// Accesses to memory that may not be mapped, which no instruction of the transport's own may
/// touch. They come from whoever drives the device, as the transport makes no system call. All
/// answer false where not all of the memory may be read, or written.
struct GuardedAccess {
  bool (*read)(void* to, const void* guarded, size_t bytes) = nullptr;
  bool (*write)(void* guarded, const void* from, size_t bytes) = nullptr;
  /// Keeps the memory mapped and writable until release(), for an instruction that reads and
  /// writes it at once.
  bool (*hold)(void* guarded, size_t bytes) = nullptr;
  void (*release)() = nullptr;
};

/// Memory that a key gives access to; false: the key does not.
struct HostMemory {
  enum class Kind : uint8_t {
    kRefused,
    kPlain,    ///< mapped for as long as it is registered
    kGuarded,  ///< only by GuardedAccess
    kNull,     ///< reads as zeros; what is written is discarded
  };

  uint8_t* at = nullptr;
  Kind kind = Kind::kRefused;

  explicit operator bool() const { return kind != Kind::kRefused; }
};

// Accesses to what a key gave. False: it is guarded and not there; part of a longer range may have
// been accessed all the same.

bool read_guarded(const GuardedAccess& access, const HostMemory& memory, std::span<uint8_t> out);
bool write_guarded(const GuardedAccess& access, const HostMemory& memory,
                   std::span<const uint8_t> data);
/// As write_memory(), but the last byte goes last: nobody who sees it finds an earlier one old.
bool write_in_order(const GuardedAccess& access, const HostMemory& memory,
                    std::span<const uint8_t> data);

inline bool read_memory(const GuardedAccess& access, const HostMemory& memory,
                        std::span<uint8_t> out) {
  if (memory.kind != HostMemory::Kind::kPlain) return read_guarded(access, memory, out);
  std::memcpy(out.data(), memory.at, out.size());
  return true;
}

inline bool write_memory(const GuardedAccess& access, const HostMemory& memory,
                         std::span<const uint8_t> data) {
  if (memory.kind != HostMemory::Kind::kPlain) return write_guarded(access, memory, data);
  std::memcpy(memory.at, data.data(), data.size());
  return true;
}

/// Runs `instruction`, which reads and writes `bytes` bytes there in one step. A copy in, a change
/// and a copy out would lose what a processor stores in between: the memory is held instead.
template <class Instruction>
bool modify_memory(const GuardedAccess& access, const HostMemory& memory, size_t bytes,
                   Instruction instruction) {
  if (memory.kind == HostMemory::Kind::kPlain) {
    instruction(memory.at);
    return true;
  }
  if (memory.kind != HostMemory::Kind::kGuarded || access.hold == nullptr) return false;
  if (!access.hold(memory.at, bytes)) return false;
  instruction(memory.at);
  access.release();
  return true;
}

}  // namespace urxe
