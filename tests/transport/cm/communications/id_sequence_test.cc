// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/communications/id_sequence.h"

#include <gtest/gtest.h>

#include <unordered_set>

namespace urxe::test {
namespace {

TEST(CmIds, AreNever0AndDoNotComeBack) {
  CmIdSequence ids(SipKey{5, 6}, 0);
  std::unordered_set<uint32_t> seen;
  for (int i = 0; i < 300000; ++i) {
    const uint32_t id = ids.next_id().value();
    ASSERT_NE(id, 0u);
    ASSERT_EQ(id >> kCommIdIndexBits, 0u);
    ASSERT_TRUE(seen.insert(id).second);
  }
}

TEST(CmIds, CarryThePrefixAndDependOnTheSecret) {
  CmIdSequence one(SipKey{1, 2}, 7);
  CmIdSequence other(SipKey{1, 3}, 7);
  int equal = 0;
  for (int i = 0; i < 1000; ++i) {
    const CommId id = one.next_id();
    EXPECT_EQ(id.value() >> kCommIdIndexBits, 7u);
    equal += id == other.next_id();
  }
  EXPECT_LT(equal, 3);
  EXPECT_NE(one.next_transaction(), one.next_transaction());
}

}  // namespace
}  // namespace urxe::test
