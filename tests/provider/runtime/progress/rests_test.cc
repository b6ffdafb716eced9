// SPDX-License-Identifier: BSD-2-Clause
// How long the background thread rests while the application polls.
#include "provider/runtime/progress/rests.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

/// Rests while the application polls for `time`. Returns when the last rest ended.
Instant rest_for(Rests& rests, Instant begin, Duration time) {
  Instant now = begin;
  while (now < begin + time) {
    rests.begin(now);
    now = now + rests.length();
    rests.lengthen(now);
  }
  return now;
}

TEST(Rests, AreShortAtFirstAndGrow) {
  Rests rests;
  rests.begin(Instant{0});
  EXPECT_EQ(rests.length(), microseconds(50));
  EXPECT_FALSE(rests.are_long());
  rests.lengthen(Instant{0} + microseconds(50));
  EXPECT_EQ(rests.length(), microseconds(100));
}

TEST(Rests, AreLongAfterSomeMilliseconds) {
  Rests rests;
  rest_for(rests, Instant{0}, milliseconds(5));
  EXPECT_TRUE(rests.are_long());
  EXPECT_EQ(rests.length(), microseconds(800));
}

TEST(Rests, AreInProportionToTheTimeForWhichTheApplicationHasPolled) {
  Rests rests;
  const Instant end = rest_for(rests, Instant{0}, milliseconds(80));
  EXPECT_EQ(rests.length().ns, (end - Instant{0}).ns / 64);
}

TEST(Rests, HaveALongestLength) {
  Rests rests;
  rest_for(rests, Instant{0}, seconds(10));
  EXPECT_EQ(rests.length(), microseconds(1600));
}

TEST(Rests, AreShortAgainAfterAPause) {
  Rests rests;
  const Instant end = rest_for(rests, Instant{0}, seconds(10));
  rests.end();
  const Instant later = end + seconds(10);
  rests.begin(later);
  EXPECT_EQ(rests.length(), microseconds(50));
  rest_for(rests, later, milliseconds(5));
  EXPECT_EQ(rests.length(), microseconds(800)) << "the pause is no time in which it polled";
}

TEST(Rests, OfAnApplicationThatHasPolledLatelyButOnlyPostsNow) {
  Rests rests;
  EXPECT_TRUE(rests.begin(Instant{0}));
  EXPECT_TRUE(rests.may_post_on(Instant{0} + microseconds(199)));
  EXPECT_FALSE(rests.may_post_on(Instant{0} + microseconds(200)));
  const Instant end = rest_for(rests, Instant{0}, milliseconds(5));
  EXPECT_FALSE(rests.begin(end));
  EXPECT_TRUE(rests.may_post_on(end + microseconds(199)));
  EXPECT_FALSE(rests.may_post_on(end + microseconds(200)));
}

}  // namespace
}  // namespace urxe::test
