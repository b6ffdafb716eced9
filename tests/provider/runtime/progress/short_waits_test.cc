// SPDX-License-Identifier: BSD-2-Clause
// How long a thread looks for packets before it sleeps.
#include "provider/runtime/progress/short_waits.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

constexpr Duration kSoon = microseconds(10);
constexpr Duration kLater = microseconds(70);

/// A packet comes `after` the wait has begun. Whether the thread has seen it without sleep.
bool wait_for_packet(ShortWaits& waits, Duration after) {
  const Duration time = waits.begin();
  if (after < time) {
    waits.came(after);
    return true;
  }
  if (time > Duration{}) waits.did_not_come();
  return false;
}

TEST(ShortWaits, PacketsThatComeSoonAreWaitedForAwake) {
  ShortWaits waits;
  for (int i = 0; i < 1000; ++i) EXPECT_TRUE(wait_for_packet(waits, kSoon));
}

TEST(ShortWaits, LatePacketsAreWaitedForAFewTimes) {
  ShortWaits waits;
  int awake = 0;
  for (int i = 0; i < 6400; ++i) awake += wait_for_packet(waits, kLater) ? 1 : 0;
  EXPECT_GE(awake, 8);
  EXPECT_LE(awake, 6400 / 4) << "the thread mostly sleeps";
}

TEST(ShortWaits, LookingInVainGetsRare) {
  ShortWaits waits;
  int looks = 0;
  for (int i = 0; i < 6400; ++i) {
    if (waits.begin() == Duration{}) continue;
    ++looks;
    waits.did_not_come();
  }
  EXPECT_LE(looks, 6400 / 64 + 10);
  EXPECT_GE(looks, 6400 / 65);
}

TEST(ShortWaits, ReturnsToLookingWhenPacketsComeSoonAgain) {
  ShortWaits waits;
  for (int i = 0; i < 1000; ++i) wait_for_packet(waits, milliseconds(1));
  int asleep = 0;
  while (!wait_for_packet(waits, kSoon)) ++asleep;
  EXPECT_LE(asleep, 64);
  for (int i = 0; i < 100; ++i) EXPECT_TRUE(wait_for_packet(waits, kSoon));
}

/// Each end's packet comes soon if the other end is awake, else late.
TEST(ShortWaits, TwoEndsFindEachOther) {
  ShortWaits ends[2];
  bool awake[2] = {false, false};
  for (int i = 0; i < 30; ++i) wait_for_packet(ends[0], milliseconds(1));
  for (int i = 0; i < 10; ++i) wait_for_packet(ends[1], milliseconds(1));
  for (int i = 0; i < 100000 && !(awake[0] && awake[1]); ++i) {
    const int end = i % 2;
    awake[end] = wait_for_packet(ends[end], awake[1 - end] ? kSoon : kLater);
  }
  EXPECT_TRUE(awake[0] && awake[1]);
}

}  // namespace
}  // namespace urxe::test
