// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/wire/types.h"

namespace urxe {

/// A scatter/gather element of a work request.
struct Sge {
  uint64_t addr = 0;
  uint32_t length = 0;
  LKey lkey;
};

}  // namespace urxe
