// SPDX-License-Identifier: BSD-2-Clause
#include "transport/key_sequence.h"

#include <cstring>

namespace urxe {
namespace {

constexpr uint32_t kHalfBits = 12;
constexpr uint32_t kHalfMask = (1U << kHalfBits) - 1;
/// As many as NIST SP 800-38G gives a Feistel network over a small domain.
constexpr uint32_t kRounds = 10;
constexpr uint32_t kTagUse = kRounds;

}  // namespace

uint64_t KeySequence::draw(uint64_t counter, uint32_t use, uint32_t input) const {
  uint8_t message[16];
  std::memcpy(message, &counter, 8);
  std::memcpy(message + 8, &use, 4);
  std::memcpy(message + 12, &input, 4);
  return siphash(secret_, message);
}

/// A secret permutation of all names, another one in each pass: none comes twice in a pass.
uint32_t KeySequence::name_at(uint32_t index, uint64_t pass) const {
  uint32_t left = index >> kHalfBits;
  uint32_t right = index & kHalfMask;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint32_t mixed = left ^ (static_cast<uint32_t>(draw(pass, round, right)) & kHalfMask);
    left = right;
    right = mixed;
  }
  return left << kHalfBits | right;
}

uint32_t KeySequence::next() {
  for (;;) {
    const uint64_t counter = counter_++;
    const uint32_t name = name_at(static_cast<uint32_t>(counter % kNames), counter / kNames);
    if (name == 0 || name == kNames - 1) continue;
    return name << 8 | (static_cast<uint32_t>(draw(counter, kTagUse, 0)) & 0xff);
  }
}

}  // namespace urxe
