// SPDX-License-Identifier: BSD-2-Clause
#include "packet/base/secret_numbers.h"

#include <cstring>

namespace urxe {
namespace {

constexpr unsigned kHalfBits = SecretNumbers::kPermutedBits / 2;
constexpr uint32_t kHalfMask = (1U << kHalfBits) - 1;
constexpr uint32_t kRounds = 10;
/// Uses below are the rounds'.
constexpr uint32_t kNumberUse = kRounds;

}  // namespace

uint64_t SecretNumbers::draw(uint64_t counter, uint32_t use, uint32_t input) const {
  uint8_t message[16];
  std::memcpy(message, &counter, 8);
  std::memcpy(message + 8, &use, 4);
  std::memcpy(message + 12, &input, 4);
  return siphash(secret_, message);
}

uint32_t SecretNumbers::permuted(uint32_t value, uint64_t pass) const {
  uint32_t left = value >> kHalfBits;
  uint32_t right = value & kHalfMask;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint32_t mixed = left ^ (static_cast<uint32_t>(draw(pass, round, right)) & kHalfMask);
    left = right;
    right = mixed;
  }
  return left << kHalfBits | right;
}

uint64_t SecretNumbers::number(uint64_t counter) const {
  return draw(counter, kNumberUse, 0);
}

}  // namespace urxe
