// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/cycle_clock.h"

#include <gtest/gtest.h>

#include "packet/host/clock.h"

namespace urxe::test::cycle_clock_test {
namespace {

/// A processor and a kernel's clock that the test moves.
struct World {
  static constexpr int64_t kCyclesPerNs = 3;

  static inline uint64_t cycles;
  static inline Instant time;
  static inline int readings;           ///< of the clock
  static inline uint64_t interruption;  ///< cycles that a reading takes

  static void begin() {
    cycles = 1'000'000'000'000;
    time = Instant{} + seconds(500);
    readings = 0;
    interruption = 0;
  }
  static void pass(Duration d) {
    cycles += static_cast<uint64_t>(d.ns * kCyclesPerNs);
    time = time + d;
  }
  static uint64_t read_cycles() { return cycles; }
  static Instant read_time() {
    ++readings;
    const Instant now = time;
    cycles += interruption;
    time = time + nanoseconds(static_cast<int64_t>(interruption) / kCyclesPerNs);
    return now;
  }
  static CycleClock clock() { return CycleClock({read_cycles, read_time}); }
  /// One that knows the rate.
  static CycleClock measured_clock() {
    CycleClock made = clock();
    (void)made.now();
    pass(milliseconds(1));
    (void)made.now();
    return made;
  }
};

TEST(CycleClock, CountsOnBetweenReadings) {
  World::begin();
  CycleClock clock = World::clock();
  EXPECT_EQ(clock.now(), World::time);
  World::pass(milliseconds(1));
  EXPECT_EQ(clock.now(), World::time);
  World::readings = 0;
  for (int i = 0; i < 900; ++i) {
    World::pass(microseconds(1));
    EXPECT_NEAR(static_cast<double>((clock.now() - World::time).ns), 0, 2);
  }
  EXPECT_EQ(World::readings, 0);
}

TEST(CycleClock, ReadsTheClockAfterAMillisecond) {
  World::begin();
  CycleClock clock = World::clock();
  for (int i = 0; i < 10; ++i) {
    World::pass(milliseconds(1));
    EXPECT_EQ(clock.now(), World::time);
  }
  EXPECT_EQ(World::readings, 10);
  World::pass(seconds(100));
  EXPECT_EQ(clock.now(), World::time);
  World::cycles = 5;  // the processor was switched off meanwhile
  World::pass(microseconds(3));
  EXPECT_EQ(clock.now(), World::time);
}

// Expect: the processor's rate may change, as in a virtual machine that moves.
TEST(CycleClock, MeasuresTheRateAnew) {
  World::begin();
  CycleClock clock = World::measured_clock();
  for (int i = 0; i < 2; ++i) {
    World::cycles += 6'000'000;
    World::time = World::time + milliseconds(1);
    EXPECT_EQ(clock.now(), World::time);
  }
  World::cycles += 600'000;
  World::time = World::time + microseconds(100);
  EXPECT_NEAR(static_cast<double>((clock.now() - World::time).ns), 0, 2);
}

// Expect: nothing is measured by a reading that was interrupted.
TEST(CycleClock, AnInterruptedReadingIsNotCountedFrom) {
  World::begin();
  CycleClock clock = World::measured_clock();
  World::pass(milliseconds(2));
  World::interruption = 9'000'000;
  const Instant read = World::time;
  EXPECT_EQ(clock.now(), read);
  World::interruption = 0;
  EXPECT_EQ(clock.now(), World::time);
  World::pass(microseconds(10));
  EXPECT_NEAR(static_cast<double>((clock.now() - World::time).ns), 0, 2);
}

TEST(CycleClock, NeverGoesBack) {
  World::begin();
  CycleClock clock = World::measured_clock();
  World::cycles += 2'999'000;  // the processor runs ahead of the clock
  const Instant ahead = clock.now();
  World::cycles += 1'000;
  World::time = World::time + microseconds(900);
  EXPECT_EQ(clock.now(), ahead);
  World::pass(milliseconds(1));
  EXPECT_EQ(clock.now(), World::time);
}

TEST(CycleClock, ReadsTheClockEachTimeWithoutCycles) {
  World::begin();
  CycleClock clock({nullptr, World::read_time});
  for (int i = 0; i < 3; ++i) {
    World::pass(microseconds(1));
    EXPECT_EQ(clock.now(), World::time);
  }
  EXPECT_EQ(World::readings, 3);
}

// Expect: the usual one says what the kernel's clock says, or a little less.
TEST(CycleClock, FollowsTheKernelsClock) {
  CycleClock clock;
  const Instant end = clock_now() + milliseconds(20);
  while (clock_now() < end) {
    const Instant before = clock_now();
    const Instant now = clock.now();
    const Instant after = clock_now();
    ASSERT_GT(now, before - milliseconds(1));
    ASSERT_LT(now, after + milliseconds(1));
  }
}

}  // namespace
}  // namespace urxe::test::cycle_clock_test
