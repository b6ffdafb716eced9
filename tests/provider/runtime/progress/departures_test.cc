// SPDX-License-Identifier: BSD-2-Clause
// Whether a thread that has taken a completion wakes the background thread.
#include "provider/runtime/progress/departures.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

using Return = Departures::Return;

/// The background thread ends its rest, serves so many packets, and rests again.
void serve(Departures& departures, Return why, uint64_t packets) {
  departures.returns(why);
  departures.serves(packets);
  departures.goes_to_rest();
}

TEST(Departures, AnApplicationThatPollsIsNotDisturbed) {
  Departures departures;
  for (int i = 0; i < 100; ++i) EXPECT_FALSE(departures.must_tell(false));
  serve(departures, Return::kNobodyPolls, 0);  // it had nothing to do
  EXPECT_FALSE(departures.must_tell(false));
  serve(departures, Return::kOther, 100);
  EXPECT_FALSE(departures.must_tell(false));
}

TEST(Departures, OneThatWatchesItsMemoryTellsOnceARest) {
  Departures departures;
  serve(departures, Return::kNobodyPolls, 1);
  EXPECT_TRUE(departures.must_tell(false));
  EXPECT_TRUE(departures.was_told());
  EXPECT_FALSE(departures.must_tell(false));
  serve(departures, Return::kTold, 1);
  EXPECT_FALSE(departures.was_told());
  EXPECT_TRUE(departures.must_tell(false));
}

TEST(Departures, OneThatPollsAgainAtOnceIsSoonLeftAlone) {
  Departures departures;
  for (int i = 0; i < 1000; ++i) serve(departures, Return::kNobodyPolls, 1);
  int told = 0;
  for (; departures.must_tell(false) && told < 1000; ++told) serve(departures, Return::kTold, 0);
  EXPECT_GT(told, 1) << "one poll is no proof";
  EXPECT_LT(told, 100);
}

// Expect: what is learnt of completions that come without a peer's request changes nothing for
// those that come with one.
TEST(Departures, TheTwoKindsOfCompletionsAreLearntSeparately) {
  Departures departures;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(departures.must_tell(true));
    static_cast<void>(departures.must_tell(false));
    serve(departures, Return::kNobodyPolls, 1);
  }
  EXPECT_FALSE(departures.must_tell(true));
  EXPECT_TRUE(departures.must_tell(false));
  serve(departures, Return::kTold, 1);
  static_cast<void>(departures.must_tell(true));
  serve(departures, Return::kNobodyPolls, 1);
  EXPECT_TRUE(departures.must_tell(true));
}

// Expect: the first ACK that waits is enough; each further one that is sent in time confirms it.
TEST(Departures, OneThatLeavesAnAckBehindTells) {
  Departures departures;
  EXPECT_FALSE(departures.must_tell(true));
  departures.was_missed();
  EXPECT_FALSE(departures.must_tell(false)) << "another kind of completion";
  for (int i = 0; i < 10; ++i) {
    EXPECT_TRUE(departures.must_tell(true));
    serve(departures, Return::kTold, 1);
  }
  int told = 0;
  for (; departures.must_tell(true) && told < 100; ++told) serve(departures, Return::kTold, 0);
  EXPECT_LT(told, 100);
}

}  // namespace
}  // namespace urxe::test
