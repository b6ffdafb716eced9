// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/id_sequence.h"

namespace urxe {
namespace {

constexpr uint32_t kIndices = 1U << kCommIdIndexBits;
static_assert(kCommIdIndexBits <= SecretNumbers::kPermutedBits);

}  // namespace

CommId CmIdSequence::next_id() {
  for (;;) {
    const uint64_t counter = ids_++;
    auto index = static_cast<uint32_t>(counter % kIndices);
    // More values are permuted than there are indices: those too large are permuted again. A
    // permutation's cycle comes back below the bound, as it started below it.
    do index = numbers_.permuted(index, counter / kIndices);
    while (index >= kIndices);
    const CommId id(prefix_ << kCommIdIndexBits | index);
    if (id != CommId{}) return id;
  }
}

uint64_t CmIdSequence::next_transaction() {
  return numbers_.number(transactions_++);
}

}  // namespace urxe
