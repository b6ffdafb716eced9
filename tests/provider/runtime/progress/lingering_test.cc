// SPDX-License-Identifier: BSD-2-Clause
// When the thread that drives the device looks again instead of going to sleep.
#include "provider/runtime/progress/lingering.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

constexpr Instant kNow{1000000000};
constexpr Duration kSeldom = milliseconds(1);

TEST(Lingering, NotWithoutPackets) {
  Lingering lingering;
  lingering.begin();
  EXPECT_FALSE(lingering.lasts(kNow));
  lingering.came(0, Duration{}, true, kNow);
  EXPECT_FALSE(lingering.lasts(kNow));
}

TEST(Lingering, AfterAStreamThroughMemory) {
  Lingering lingering;
  lingering.begin();
  lingering.passed_through_memory(7);
  EXPECT_FALSE(lingering.lasts(kNow));
  lingering.passed_through_memory(1);
  EXPECT_TRUE(lingering.lasts(kNow));
  EXPECT_TRUE(lingering.lasts(kNow + microseconds(119)));
  EXPECT_FALSE(lingering.lasts(kNow + microseconds(120)));
}

TEST(Lingering, WhatWentThroughMemoryBeforeTheThreadSleptDoesNotCount) {
  Lingering lingering;
  lingering.passed_through_memory(7);
  lingering.begin();
  lingering.passed_through_memory(7);
  EXPECT_FALSE(lingering.lasts(kNow));
}

TEST(Lingering, AfterABurstThroughSocketsWithLittleRoom) {
  Lingering lingering;
  lingering.came(32, kSeldom, false, kNow);
  EXPECT_FALSE(lingering.lasts(kNow));
  lingering.came(32, kSeldom, true, kNow);
  EXPECT_TRUE(lingering.lasts(kNow + microseconds(59)));
  EXPECT_FALSE(lingering.lasts(kNow + microseconds(60)));
}

TEST(Lingering, SinglePacketsAtShortIntervals) {
  Lingering lingering;
  lingering.came(1, kSeldom, true, kNow);
  EXPECT_FALSE(lingering.lasts(kNow));
  lingering.came(1, microseconds(39), false, kNow);
  EXPECT_TRUE(lingering.lasts(kNow + microseconds(39)));
  EXPECT_FALSE(lingering.lasts(kNow + microseconds(40)));
}

TEST(Lingering, BurstsAtShortIntervals) {
  Lingering lingering;
  lingering.came(32, microseconds(39), false, kNow);
  EXPECT_TRUE(lingering.lasts(kNow + microseconds(39)));
  EXPECT_FALSE(lingering.lasts(kNow + microseconds(40)));
}

TEST(Lingering, NotForABurstWhileAnotherThreadTakesTheProcessorForItsSlice) {
  Lingering lingering;
  lingering.yielded(milliseconds(3), kNow);
  lingering.came(32, microseconds(39), true, kNow + milliseconds(199));
  EXPECT_FALSE(lingering.lasts(kNow + milliseconds(199)));
  lingering.came(32, kSeldom, true, kNow + milliseconds(200));
  EXPECT_TRUE(lingering.lasts(kNow + milliseconds(200)));
}

// The defect: of two programs that each spin until the other writes, a transfer through shared
// memory took several times as long as through sockets, or a slice of the scheduler each.
TEST(Lingering, NorForAStreamThroughMemoryThen) {
  Lingering lingering;
  lingering.yielded(milliseconds(3), kNow);
  lingering.passed_through_memory(100);
  EXPECT_FALSE(lingering.lasts(kNow + milliseconds(199)));
  lingering.passed_through_memory(100);
  EXPECT_TRUE(lingering.lasts(kNow + milliseconds(200)));
}

TEST(Lingering, NorForSinglePacketsThen) {
  Lingering lingering;
  lingering.yielded(milliseconds(3), kNow);
  lingering.came(1, microseconds(39), false, kNow + milliseconds(199));
  EXPECT_FALSE(lingering.lasts(kNow + milliseconds(199)));
  lingering.came(1, microseconds(39), false, kNow + milliseconds(200));
  EXPECT_TRUE(lingering.lasts(kNow + milliseconds(200)));
}

TEST(Lingering, APeerThatTakesItsTurnOnThisProcessorDoesNotEndIt) {
  Lingering lingering;
  lingering.yielded(microseconds(100), kNow);
  lingering.came(32, kSeldom, true, kNow);
  EXPECT_TRUE(lingering.lasts(kNow));
}

}  // namespace
}  // namespace urxe::test
