// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace urxe {

/// Whether every page of [addr, addr + length) is mapped with the right to read (and to write,
/// where `writable`). Makes the pages present, as pinning them would, unless there are more than
/// the machine has memory free. `length` may be 0. Returns 0; EFAULT, also beyond the end of a
/// mapped file; EINVAL: the range goes round the end of the address space; ENOMEM.
int check_mapped(const void* addr, size_t length, bool writable) noexcept;

/// Bytes from `addr`, where a mapping begins, to its end: adjacent parts of the same file count as
/// one. 0 if no mapping begins there.
size_t mapping_length(const void* addr) noexcept;

}  // namespace urxe
