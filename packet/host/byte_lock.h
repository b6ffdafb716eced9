// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

// Locks of bytes of a file, which may lie behind its end, for the file's open description
// (fcntl(2), F_OFD_SETLK): the kernel frees them when the last copy of the descriptor is closed,
// however the processes that have one end.

/// The last byte that can be locked.
inline constexpr uint64_t kLastByte = INT64_MAX - 1;

enum class ByteLock : uint8_t { kShared, kExclusive };

/// Returns 0, or the errno: EAGAIN if another open description has a lock in the way. Never waits.
int lock_byte(int fd, uint64_t at, ByteLock kind);
/// As lock_byte(), exclusively, for all bytes.
int lock_all_bytes(int fd);
/// Whether another open description has locked the byte. True if that cannot be found out.
bool is_byte_locked(int fd, uint64_t at);
/// The same for any of `count` bytes.
bool is_any_byte_locked(int fd, uint64_t first, uint64_t count);

}  // namespace urxe
