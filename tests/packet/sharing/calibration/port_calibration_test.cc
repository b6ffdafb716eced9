// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/calibration/port_calibration.h"

#include <gtest/gtest.h>

#include <utility>
#include <vector>

#include "packet/wire/roce_packet.h"
#include "tests/packet/sharing/sharing_fixture.h"

namespace urxe::test {
namespace {

constexpr Duration kTick = milliseconds(1);
constexpr uint32_t kOwnSlot = 7;

/// A process that a stranger sends packets for others all the time, in virtual time. It has no
/// socket: it is answered by calls, or another process searches in its place.
class Harassed : public ::testing::Test {
 protected:
  /// A millisecond passes, in which a packet goes astray.
  void harass() {
    now_ = now_ + kTick;
    calibration_.want(PortCalibration::Reason::kAstray, now_);
    calibration_.tick(now_);
  }
  /// Another process searches, and finds `members`.
  void let_other_search(const std::vector<GroupMember>& members) {
    now_ = now_ + ProgramPace::kLongestPause;
    ASSERT_TRUE(other_.begin(now_));
    other_.end(members);
    now_ = now_ + kTick;
    calibration_.tick(now_);
  }
  /// Until the process wants a search that it has no turn for. Returns the time that it took.
  Duration wait_until_wanted() {
    const Instant before = now_;
    while (!calibration_.is_busy()) {
      other_.charge(seconds(1), now_);  // a pause for all: nobody gets the turn
      harass();
    }
    return now_ - before;
  }

  Gid address_ = own_loopback(31);
  ProgramTable table_{};
  ProgramPace other_{table_, address_};
  Instant now_{1'000'000'000};
  PortCalibration calibration_{-1, SocketAddress(address_, kRoceUdpPort, 0), kOwnSlot,
                               ProgramPace(table_, address_)};
  std::vector<GroupMember> members_{{7, 0}, {9, 1}};
};

// Expect: the searches of others, too, have the pause grow to its longest while they find nothing.
TEST_F(Harassed, PausesGrowWhileOthersFindNothingNew) {
  wait_until_wanted();
  let_other_search(members_);
  Duration last{};
  for (int i = 0; i < 10; ++i) {
    const Duration pause = wait_until_wanted();
    EXPECT_GE(pause, last);
    last = pause;
    let_other_search(members_);
  }
  EXPECT_GE(last, milliseconds(999));
  EXPECT_LE(last, seconds(3));
  EXPECT_EQ(calibration_.counters().by_others, 11U);
}

TEST_F(Harassed, AnotherOrderMakesThePauseShortAgain) {
  for (int i = 0; i < 10; ++i) {
    wait_until_wanted();
    let_other_search(members_);
  }
  wait_until_wanted();
  std::swap(members_[0].index, members_[1].index);
  let_other_search(members_);
  EXPECT_LE(wait_until_wanted(), milliseconds(10) + kTick);
}

}  // namespace
}  // namespace urxe::test
