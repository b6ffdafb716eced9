// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/psn.h"

#include <gtest/gtest.h>

namespace urxe {
namespace {

TEST(Psn, IsTwentyFourBits) {
  EXPECT_EQ(Psn(0x1000005).value(), 5U);
  EXPECT_EQ((Psn(0xffffff) + 1).value(), 0U);
  EXPECT_EQ((Psn(0) - 1).value(), 0xffffffU);
  EXPECT_EQ(Psn(0xfffffe) + 4, Psn(2));
}

TEST(Psn, DistanceIsSignedAndCircular) {
  struct Case {
    uint32_t a, b;
    int32_t distance;
  };
  for (const Case& c : {Case{5, 5, 0},
                        {6, 5, 1},
                        {5, 6, -1},
                        {0, 0xffffff, 1},
                        {0xffffff, 0, -1},
                        {2, 0xfffffc, 6},
                        {0x7fffff, 0, 0x7fffff},
                        {0x800000, 0, -0x800000},
                        {0, 0x800000, -0x800000},
                        {0x800001, 1, -0x800000}}) {
    EXPECT_EQ(Psn(c.a).distance_from(Psn(c.b)), c.distance) << c.a << " from " << c.b;
  }
}

TEST(Psn, OrderFollowsDistanceOverTheWrap) {
  for (const uint32_t start : {0U, 1U, 0x7fffffU, 0x800000U, 0xfffffeU, 0xffffffU}) {
    const Psn psn(start);
    EXPECT_TRUE(psn.is_before(psn + 1));
    EXPECT_TRUE((psn + 1).is_after(psn));
    EXPECT_TRUE((psn + 0x7fffff).is_after(psn));
    EXPECT_TRUE((psn + 0x800000).is_before(psn));
    EXPECT_FALSE(psn.is_before(psn));
    EXPECT_FALSE(psn.is_after(psn));
  }
}

TEST(Ssn, CreditLimitCountsOverTheWrap) {
  EXPECT_EQ(credit_limit(Msn(7), 3), Ssn(10));
  EXPECT_EQ(credit_limit(Msn(0xfffffe), 4), Ssn(2));
  EXPECT_TRUE(Ssn(1).is_after(credit_limit(Msn(0xffffff), 1)));
}

template <class A, class B>
concept Mixes = requires(A a, B b) {
  a == b;
}
|| requires(A a, B b) {
  a.distance_from(b);
};
static_assert(Mixes<Psn, Psn>);
static_assert(!Mixes<Psn, Msn> && !Mixes<Msn, Ssn> && !Mixes<Ssn, Psn>);

}  // namespace
}  // namespace urxe
