// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/base/expected.h"

namespace urxe {

// Access to memory by an address in a command. Memory that is not mapped gives EFAULT, as in the
// kernel, and does not end the program, if the system allows such access (guarded_access_works()).

Expected<void, Errno> read_user(void* to, const void* address, size_t bytes);
Expected<void, Errno> read_user(void* to, uint64_t address, size_t bytes);
Expected<void, Errno> write_user(uint64_t address, const void* from, size_t bytes);

}  // namespace urxe
