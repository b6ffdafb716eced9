// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "transport/observation/error_cause.h"

namespace urxe {

/// Keeps ThreadSanitizer from instrumenting a function with atomic instructions on the
/// application's memory. Its munmap() forgets what it knows of the atomics there before anyone else
/// learns that the memory goes away; an instrumented atomic would then end the process.
#if defined(__SANITIZE_THREAD__)
#define URXE_NO_SANITIZE_THREAD __attribute__((no_sanitize("thread"), noinline))
#else
#define URXE_NO_SANITIZE_THREAD
#endif

/// Access to memory that may not be mapped, which the transport's own instructions must not touch.
/// The device's caller supplies these functions, since the transport makes no system calls. They
/// return false if some of the memory cannot be read, or written.
struct GuardedAccess {
  bool (*read)(void* to, const void* guarded, size_t bytes) = nullptr;
  bool (*write)(void* guarded, const void* from, size_t bytes) = nullptr;
  /// Keeps the memory mapped and writable until release(), for an instruction that reads and
  /// writes it at once.
  bool (*hold)(void* guarded, size_t bytes) = nullptr;
  void (*release)() = nullptr;
};

/// Memory that a key gives access to; false: access is refused.
struct HostMemory {
  enum class Kind : uint8_t {
    kRefused,
    kPlain,    ///< mapped for as long as it is registered
    kGuarded,  ///< may be accessed through GuardedAccess only
    kNull,     ///< reads as zeros; writes are discarded
  };

  uint8_t* at = nullptr;
  Kind kind = Kind::kRefused;
  Check failed = Check::kNone;  ///< why access is refused

  static HostMemory refused(Check check) { return {nullptr, Kind::kRefused, check}; }

  explicit operator bool() const { return kind != Kind::kRefused; }
};

// Access to the memory that a key gives. False: it is guarded and not mapped. Part of the range may
// have been read or written nevertheless.

bool read_guarded(const GuardedAccess& access, const HostMemory& memory, std::span<uint8_t> out);
bool write_guarded(const GuardedAccess& access, const HostMemory& memory,
                   std::span<const uint8_t> data);
/// As write_memory(), but a reader that looks at the memory all the time may rely on the order: the
/// last bytes come last, at once as far as they are an aligned word of up to 8 bytes, and all after
/// what was written by an earlier call. `data` is not empty.
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

/// Runs `instruction`, which reads and writes `bytes` bytes in one step. Guarded memory is held
/// mapped meanwhile: a copy in, a change and a copy out would lose stores of other processors.
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
