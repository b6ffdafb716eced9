// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "provider/presence/presence_abi.h"

namespace urxe {

/// The preloaded object's interface, if the process has the object, of this version or a later one;
/// otherwise null. Each member of urxe_presence says since when it is there. Thread-safe.
const urxe_presence* find_presence(uint32_t first_version = 1);

}  // namespace urxe
