// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/types.h"

namespace urxe {

/// IBTA vol. 1, 10.9.3: the same partition, and not two limited members.
constexpr bool pkeys_match(PKey a, PKey b) {
  constexpr uint16_t kPartition = 0x7fff;
  constexpr uint16_t kFull = 0x8000;
  return ((a.value() ^ b.value()) & kPartition) == 0 && ((a.value() | b.value()) & kFull) != 0;
}

}  // namespace urxe
