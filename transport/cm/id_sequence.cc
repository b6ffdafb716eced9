// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/id_sequence.h"

#include <cstring>

namespace urxe {
namespace {

constexpr uint32_t kIndices = 1U << kCommIdIndexBits;
/// Of the Feistel network, which permutes twice as many values: those too large are permuted again.
constexpr uint32_t kHalfBits = (kCommIdIndexBits + 1) / 2;
constexpr uint32_t kHalfMask = (1U << kHalfBits) - 1;
constexpr uint32_t kRounds = 10;
constexpr uint32_t kTransactionUse = kRounds;

}  // namespace

uint64_t CmIdSequence::draw(uint64_t counter, uint32_t use, uint32_t input) const {
  uint8_t message[16];
  std::memcpy(message, &counter, 8);
  std::memcpy(message + 8, &use, 4);
  std::memcpy(message + 12, &input, 4);
  return siphash(secret_, message);
}

uint32_t CmIdSequence::permuted(uint32_t value, uint64_t pass) const {
  uint32_t left = value >> kHalfBits;
  uint32_t right = value & kHalfMask;
  for (uint32_t round = 0; round < kRounds; ++round) {
    const uint32_t mixed = left ^ (static_cast<uint32_t>(draw(pass, round, right)) & kHalfMask);
    left = right;
    right = mixed;
  }
  return left << kHalfBits | right;
}

CommId CmIdSequence::next_id() {
  for (;;) {
    const uint64_t counter = ids_++;
    uint32_t index = static_cast<uint32_t>(counter % kIndices);
    // A permutation's cycle comes back below the bound, as it started below it.
    do index = permuted(index, counter / kIndices);
    while (index >= kIndices);
    const CommId id(prefix_ << kCommIdIndexBits | index);
    if (id != CommId{}) return id;
  }
}

uint64_t CmIdSequence::next_transaction() {
  return draw(transactions_++, kTransactionUse, 0);
}

}  // namespace urxe
