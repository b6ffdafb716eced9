// SPDX-License-Identifier: BSD-2-Clause
#include "transport/memory/key_sequence.h"

namespace urxe {

uint32_t KeySequence::next() {
  for (;;) {
    const uint64_t counter = counter_++;
    const auto index = static_cast<uint32_t>(counter % kNames);
    const uint32_t name = numbers_.permuted(index, counter / kNames);
    if (name == 0 || name == kNames - 1) continue;
    return name << 8 | (static_cast<uint32_t>(numbers_.number(counter)) & 0xff);
  }
}

}  // namespace urxe
