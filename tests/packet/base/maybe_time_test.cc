// SPDX-License-Identifier: BSD-2-Clause
#include "packet/base/maybe_time.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

static_assert(sizeof(MaybeInstant) == sizeof(Instant));

TEST(MaybeTime, IsNoneAtFirst) {
  EXPECT_FALSE(MaybeInstant());
  EXPECT_FALSE(MaybeDuration());
}

TEST(MaybeTime, HoldsATime) {
  MaybeInstant at;
  at = Instant{7};
  ASSERT_TRUE(at);
  EXPECT_EQ(*at, Instant{7});
}

TEST(MaybeTime, ZeroIsATime) {
  EXPECT_TRUE(MaybeInstant(Instant{}));
  EXPECT_TRUE(MaybeDuration(Duration{}));
}

TEST(MaybeTime, NeverIsATime) {
  EXPECT_TRUE(MaybeInstant(kNever));
}

TEST(MaybeTime, IsNoneAfterReset) {
  MaybeInstant at = Instant{7};
  at.reset();
  EXPECT_FALSE(at);
}

}  // namespace
}  // namespace urxe::test
