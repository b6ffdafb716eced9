// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/calibration/program_pace.h"

#include <gtest/gtest.h>

#include <vector>

namespace urxe::test {
namespace {

constexpr Instant kStart{1'000'000'000};

/// Two processes that share an address, and one with another address.
class ProgramPaces : public ::testing::Test {
 protected:
  static Gid ipv4(uint8_t last) {
    const uint8_t bytes[4] = {192, 0, 2, last};
    return Gid::from_ipv4(bytes);
  }
  ProgramTable table_{};
  ProgramPace a_{table_, ipv4(1)};
  ProgramPace b_{table_, ipv4(1)};
  ProgramPace other_{table_, ipv4(2)};
  std::vector<GroupMember> members_{{7, 0}, {9, 1}};
};

TEST_F(ProgramPaces, OneHasTheTurn) {
  ASSERT_TRUE(a_.begin(kStart));
  EXPECT_FALSE(b_.begin(kStart));
  EXPECT_TRUE(other_.begin(kStart)) << "another address";
  a_.end(members_);
  EXPECT_TRUE(b_.begin(kStart + milliseconds(1)));
}

TEST_F(ProgramPaces, TheTurnOfOneThatIsGonePasses) {
  ASSERT_TRUE(a_.begin(kStart));
  EXPECT_FALSE(b_.begin(kStart + ProgramPace::kLongestTurn - nanoseconds(1)));
  EXPECT_TRUE(b_.begin(kStart + ProgramPace::kLongestTurn));
}

TEST_F(ProgramPaces, OneThatGivesUpHasFoundNothing) {
  ASSERT_TRUE(a_.begin(kStart));
  a_.give_up();
  EXPECT_FALSE(b_.searched_since(kStart - milliseconds(1), kStart));
  EXPECT_TRUE(b_.begin(kStart));
}

TEST_F(ProgramPaces, OnlyASearchThatBeganLaterWillDo) {
  const Instant now = kStart + milliseconds(10);
  ASSERT_TRUE(a_.begin(kStart));
  EXPECT_FALSE(b_.searched_since(kStart - milliseconds(1), now)) << "it is not over";
  a_.end(members_);
  EXPECT_TRUE(b_.searched_since(kStart - milliseconds(1), now));
  EXPECT_FALSE(b_.searched_since(kStart, now));
  EXPECT_FALSE(b_.searched_since(kStart + milliseconds(1), now));
  EXPECT_FALSE(other_.searched_since(kStart - milliseconds(1), now));
}

// A process would be content with the search of another group of sockets, and not look for its own.
TEST_F(ProgramPaces, ASearchForAnotherAddressOfTheSameEntryWillNotDo) {
  ASSERT_TRUE(a_.begin(kStart));
  for (uint8_t last = 2; last != 0; ++last) {
    ProgramPace neighbour(table_, ipv4(last));
    if (neighbour.begin(kStart)) continue;  // it has another entry
    a_.end(members_);
    const Instant before = kStart - milliseconds(1);
    EXPECT_TRUE(b_.searched_since(before, kStart));
    EXPECT_FALSE(neighbour.searched_since(before, kStart));
    return;
  }
  FAIL() << "no two of 255 addresses have the same of 64 entries";
}

TEST_F(ProgramPaces, AChangeLastsUntilASearchThatBeganLater) {
  a_.mark_change(kStart);
  EXPECT_TRUE(b_.has_changed());
  ASSERT_TRUE(a_.begin(kStart + milliseconds(1)));
  EXPECT_TRUE(b_.has_changed()) << "the search is not over";
  b_.mark_change(kStart + milliseconds(2));
  a_.end(members_);
  EXPECT_TRUE(b_.has_changed()) << "it changed during the search";
  ASSERT_TRUE(a_.begin(kStart + milliseconds(3)));
  a_.end(members_);
  EXPECT_FALSE(b_.has_changed());
}

TEST_F(ProgramPaces, AProgramIsKnownByItsMembersAndAddress) {
  EXPECT_FALSE(a_.is_current(members_));
  ASSERT_TRUE(a_.begin(kStart));
  a_.end(members_);
  EXPECT_TRUE(b_.is_current(members_));
  EXPECT_FALSE(b_.is_current(std::vector<GroupMember>{{7, 1}, {9, 0}}));
  EXPECT_FALSE(b_.is_current(std::vector<GroupMember>{{7, 0}}));
  EXPECT_FALSE(b_.is_current({}));
  EXPECT_FALSE(other_.is_current(members_));
}

TEST_F(ProgramPaces, AProgramIsFollowedByAPauseForAll) {
  const Duration cost = milliseconds(2);
  ASSERT_TRUE(a_.begin(kStart));
  a_.charge(cost, kStart);
  a_.end(members_);
  const Instant end = kStart + cost * ProgramPace::kPauseFactor;
  for (ProgramPace* pace : {&a_, &b_, &other_}) {
    EXPECT_FALSE(pace->begin(kStart + nanoseconds(1)));
    EXPECT_FALSE(pace->begin(end - nanoseconds(1)));
  }
  EXPECT_TRUE(other_.begin(end));
}

TEST_F(ProgramPaces, ThePauseHasBounds) {
  ASSERT_TRUE(a_.begin(kStart));
  a_.charge(nanoseconds(1), kStart);
  a_.end(members_);
  EXPECT_FALSE(a_.begin(kStart + ProgramPace::kShortestPause - nanoseconds(1)));
  ASSERT_TRUE(a_.begin(kStart + ProgramPace::kShortestPause));
  const Instant later = kStart + seconds(10);
  a_.charge(seconds(1000), later);
  a_.end(members_);
  EXPECT_FALSE(a_.begin(later + ProgramPace::kLongestPause - nanoseconds(1)));
  EXPECT_TRUE(a_.begin(later + ProgramPace::kLongestPause));
}

// Processes in another time namespace have another clock.
TEST_F(ProgramPaces, TimesOfAnotherClockHoldNobodyUp) {
  const Instant far = kStart + seconds(1'000'000);
  ASSERT_TRUE(a_.begin(far));
  a_.charge(milliseconds(1), far);
  a_.end(members_);
  EXPECT_FALSE(b_.searched_since(kStart, kStart));
  ASSERT_TRUE(a_.begin(far + seconds(1)));
  EXPECT_TRUE(b_.begin(kStart));
}

}  // namespace
}  // namespace urxe::test
