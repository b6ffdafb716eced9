// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace urxe {

/// Whether every page of [addr, addr + length) is mapped with the right to read (and to write,
/// where `writable`). Makes the pages present, as pinning them would. `length` may be 0. Answers 0,
/// EFAULT or ENOMEM.
int check_mapped(const void* addr, size_t length, bool writable) noexcept;

}  // namespace urxe
