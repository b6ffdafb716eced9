// SPDX-License-Identifier: BSD-2-Clause
#include "packet/base/secret_numbers.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace urxe::test {
namespace {

constexpr uint32_t kValues = 1U << SecretNumbers::kPermutedBits;
constexpr uint32_t kTried = 50'000;

TEST(SecretNumbers, APermutationHasNoValueTwice) {
  const SecretNumbers numbers({3, 4});
  std::unordered_set<uint32_t> seen;
  for (uint32_t i = 0; i < kTried; ++i) {
    // From both ends, because the halves of a value are alike there.
    for (const uint32_t value : {i, kValues - 1 - i}) {
      const uint32_t permuted = numbers.permuted(value, 7);
      ASSERT_LT(permuted, kValues);
      ASSERT_TRUE(seen.insert(permuted).second);
    }
  }
}

TEST(SecretNumbers, EachPassAndSecretHasAnotherPermutation) {
  const SecretNumbers numbers({3, 4});
  const SecretNumbers others({3, 5});
  uint32_t alike = 0;
  for (uint32_t i = 0; i < kTried; ++i) {
    const uint32_t permuted = numbers.permuted(i, 1);
    alike += permuted == numbers.permuted(i, 2);
    alike += permuted == others.permuted(i, 1);
  }
  EXPECT_LT(alike, 5u);
}

}  // namespace
}  // namespace urxe::test
