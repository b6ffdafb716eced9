// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/slots/index_order.h"

#include <gtest/gtest.h>

#include <set>

#include "packet/wire/qpn_layout.h"

namespace urxe::test {
namespace {

constexpr SipKey kSecret{1, 2};

TEST(IndexOrder, HasEachIndexOnce) {
  std::set<uint32_t> seen;
  for (uint32_t place = 0; place < kQpIndices; ++place) {
    const uint32_t index = index_at(kSecret, 3, place);
    ASSERT_LT(index, kQpIndices);
    seen.insert(index);
  }
  EXPECT_EQ(seen.size(), kQpIndices);
}

TEST(IndexOrder, BeginsAnewAfterTheLast) {
  EXPECT_EQ(index_at(kSecret, 3, kQpIndices + 5), index_at(kSecret, 3, 5));
}

TEST(IndexOrder, DiffersBySecretAndSlot) {
  size_t same = 0;
  for (uint32_t place = 0; place < 1000; ++place) {
    const uint32_t index = index_at(kSecret, 3, place);
    if (index == index_at(kSecret, 4, place)) ++same;
    if (index == index_at({1, 3}, 3, place)) ++same;
  }
  EXPECT_LT(same, 10U);
}

}  // namespace
}  // namespace urxe::test
