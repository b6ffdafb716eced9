// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/base/expected.h"

namespace urxe::cm {

// Memory that a command of the application's names, by the address in it. What is not mapped so is
// EFAULT, as it would be the kernel's answer, and not the end of the program; where the system does
// not let a process ask so (see guarded_access_works()) it is that.

Expected<void, Errno> read_user(void* to, const void* address, size_t bytes);
Expected<void, Errno> read_user(void* to, uint64_t address, size_t bytes);
Expected<void, Errno> write_user(uint64_t address, const void* from, size_t bytes);

}  // namespace urxe::cm
