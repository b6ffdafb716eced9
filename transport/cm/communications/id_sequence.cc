// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/communications/id_sequence.h"

namespace urxe {
namespace {

constexpr uint32_t kIndices = 1U << kCommIdIndexBits;
static_assert(kCommIdIndexBits <= SecretNumbers::kPermutedBits);

}  // namespace

CommId CmIdSequence::next_id() {
  for (;;) {
    const uint64_t counter = ids_++;
    auto index = static_cast<uint32_t>(counter % kIndices);
    // The permutation has more values than there are indices: one that is too large is permuted
    // again. This ends, because the cycle of the permutation started below the bound.
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
