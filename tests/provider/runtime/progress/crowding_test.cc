// SPDX-License-Identifier: BSD-2-Clause
// When a thread that polls in vain sleeps instead of yielding.
#include "provider/runtime/progress/crowding.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace urxe::test {
namespace {

constexpr Duration kWholeSlice = milliseconds(3);
constexpr Duration kPeersTurn = microseconds(10);

TEST(Crowding, YieldsAtFirst) {
  const Crowding crowding;
  EXPECT_FALSE(crowding.is_crowded(Instant{0}));
}

TEST(Crowding, SleepsAfterTwoSlicesInARow) {
  Crowding crowding;
  crowding.yielded(kWholeSlice, Instant{0});
  EXPECT_FALSE(crowding.is_crowded(Instant{0})) << "one may be chance";
  crowding.yielded(kWholeSlice, Instant{0} + kWholeSlice);
  EXPECT_TRUE(crowding.is_crowded(Instant{0} + kWholeSlice));
}

// The peer shares the processor with the others: it has its turn after each slice of theirs.
TEST(Crowding, SleepsAfterSomeSlicesWithTurnsOfThePeerBetween) {
  for (int turns = 1; turns <= 3; ++turns) {
    Crowding crowding;
    Instant now{0};
    int slices = 0;
    for (; slices < 10 && !crowding.is_crowded(now); ++slices, now = now + kWholeSlice) {
      crowding.yielded(kWholeSlice, now);
      if (crowding.is_crowded(now)) break;
      for (int i = 0; i < turns; ++i) crowding.yielded(kPeersTurn, now);
    }
    EXPECT_GE(slices, 1) << turns;
    EXPECT_LE(slices, 5) << turns;
  }
}

TEST(Crowding, ASliceNowAndThenIsNoCrowd) {
  Crowding crowding;
  Instant now{0};
  for (int i = 0; i < 100; ++i, now = now + kWholeSlice) {
    crowding.yielded(kWholeSlice, now);
    for (int turn = 0; turn < 4; ++turn) crowding.yielded(kPeersTurn, now);
    EXPECT_FALSE(crowding.is_crowded(now));
  }
}

TEST(Crowding, AfterAWhileOneYieldTellsWhetherItIsOver) {
  Crowding crowding;
  Instant now{0};
  crowding.yielded(kWholeSlice, now);
  crowding.yielded(kWholeSlice, now);
  for (int i = 0; i < 10; ++i) {
    while (crowding.is_crowded(now)) now = now + milliseconds(1);
    crowding.yielded(kWholeSlice, now);
    EXPECT_TRUE(crowding.is_crowded(now)) << "it is not";
  }
  while (crowding.is_crowded(now)) now = now + milliseconds(1);
  crowding.yielded(kPeersTurn, now);
  EXPECT_FALSE(crowding.is_crowded(now));
  crowding.yielded(kWholeSlice, now);
  EXPECT_FALSE(crowding.is_crowded(now)) << "it begins anew";
}

// The defect: with a hundred threads for each processor a yield takes half a second, and after 200
// ms of sleeping came the next. Expect: one is enough, and the next comes when twenty times as long
// has passed, but after five seconds at the latest.
TEST(Crowding, TheLongerAYieldTakesTheRarerItIs) {
  for (const int took : {50, 100, 200, 250, 1000, 10000}) {
    Crowding crowding;
    const Instant now{0};
    crowding.yielded(milliseconds(took), now);
    const Duration pause = milliseconds(std::min(20 * took, 5000));
    EXPECT_TRUE(crowding.is_crowded(now + pause - milliseconds(1))) << took;
    EXPECT_FALSE(crowding.is_crowded(now + pause)) << took;
  }
}

// Who sleeps comes first when its time is over, and so is in time in most crowds.
TEST(Crowding, ATimerThatIsLateTellsOfACrowdOneInTimeTellsNothing) {
  Crowding crowding;
  crowding.woke_up(milliseconds(60), Instant{0});
  EXPECT_TRUE(crowding.is_crowded(Instant{0}));
  for (int i = 0; i < 100; ++i) crowding.woke_up(microseconds(50), Instant{0});
  EXPECT_TRUE(crowding.is_crowded(Instant{0}));
  Crowding another;
  for (int i = 0; i < 100; ++i) another.woke_up(milliseconds(5), Instant{0});
  EXPECT_FALSE(another.is_crowded(Instant{0}));
}

TEST(Crowding, EndsByItself) {
  Crowding crowding;
  crowding.yielded(kWholeSlice, Instant{0});
  crowding.yielded(kWholeSlice, Instant{0});
  EXPECT_FALSE(crowding.is_crowded(Instant{0} + seconds(1)));
}

}  // namespace
}  // namespace urxe::test
