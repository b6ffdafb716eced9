// SPDX-License-Identifier: BSD-2-Clause
// When the background thread looks for requests that wait for others.
#include "provider/runtime/progress/held_back.h"

#include <gtest/gtest.h>

namespace urxe::test::held_back_test {
namespace {

constexpr Instant kStart{1000000000};
constexpr Duration kRest = microseconds(800);

/// The application has polled since kStart, and has held nothing back for long.
class HeldBackTest : public testing::Test {
 protected:
  HeldBackTest() { held_.application_polls(kStart); }
  /// The background thread rests `after` kStart; returns for how long.
  Duration rest(Duration after) { return held_.rests(kStart + after, kRest); }
  bool are_due(Duration after) { return held_.are_due(kStart + after); }
  bool hold(Duration after) { return held_.begins(kStart + after); }

  HeldBack held_;
};

TEST_F(HeldBackTest, NothingIsLookedForIfNothingWaits) {
  EXPECT_EQ(rest({}), kRest);
  EXPECT_FALSE(are_due(kRest));
  EXPECT_EQ(rest(kRest), kRest);
}

TEST_F(HeldBackTest, TheFirstOneWakesAThreadThatRestsForLong) {
  EXPECT_FALSE(hold({})) << "it does not rest yet, and will see them";
  held_.end();
  ASSERT_EQ(rest({}), kRest);
  EXPECT_TRUE(hold(microseconds(1)));
  EXPECT_FALSE(hold(microseconds(2))) << "the first one has woken it";
}

TEST_F(HeldBackTest, AreLookedForWithinFiftyMicroseconds) {
  EXPECT_FALSE(hold({}));
  EXPECT_EQ(rest({}), microseconds(50));
  EXPECT_TRUE(are_due(microseconds(50)));
}

TEST_F(HeldBackTest, ThoseThatHaveNotWaitedForLongAreLeftToTheApplication) {
  EXPECT_EQ(rest({}), kRest);
  ASSERT_TRUE(hold(microseconds(20)));
  EXPECT_FALSE(are_due(microseconds(30)));
  EXPECT_EQ(rest(microseconds(30)), microseconds(50)) << "and looked for soon";
  held_.end();
  EXPECT_FALSE(are_due(microseconds(80)));
}

TEST_F(HeldBackTest, AreLookedForMoreSeldomTheLongerTheApplicationHasSentThemItself) {
  const Duration long_after = milliseconds(10);
  EXPECT_FALSE(hold(long_after));
  held_.end();
  EXPECT_FALSE(are_due(long_after)) << "some have waited since the last look";
  EXPECT_EQ(rest(long_after).ns, long_after.ns / 64);
  EXPECT_FALSE(hold(long_after)) << "the next look is soon enough";
}

TEST_F(HeldBackTest, AreLookedForAtLeastEveryFifthOfAMillisecond) {
  EXPECT_FALSE(hold(seconds(10)));
  EXPECT_EQ(rest(seconds(10)), microseconds(200));
}

TEST_F(HeldBackTest, AreLookedForSoonerOnceSomeHaveWaitedForLong) {
  const Duration long_after = milliseconds(12);
  EXPECT_FALSE(hold(long_after - microseconds(60)));
  ASSERT_TRUE(are_due(long_after));
  held_.end();
  EXPECT_EQ(rest(long_after).ns, milliseconds(6).ns / 64);
}

}  // namespace
}  // namespace urxe::test::held_back_test
