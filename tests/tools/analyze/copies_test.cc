// SPDX-License-Identifier: BSD-2-Clause
// Copies that the network makes or delays, and repairs: none of them is a time-out.
#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"

namespace urxe::test {
namespace {

using analyze::RepeatReason;

/// WireScript sends a packet each millisecond.
constexpr int64_t kAtOnceUs = -1000;

void requests(WireScript& script, std::initializer_list<uint32_t> psns) {
  for (const uint32_t psn : psns) {
    script.request(Operation::kSendOnly, psn);
    script.wait_us(kAtOnceUs);
  }
  script.wait_ms(1);
}

/// An ACK timeout of 67 ms.
constexpr uint8_t kAckTimeout = 14;

void expect_no_timeout(WireScript& script) {
  script.finish();
  EXPECT_EQ(script.flow().counts().timeouts, 0U);
  EXPECT_EQ(script.repeats(RepeatReason::kTimeout), 0U);
}

/// The defect: the requester seemed to go back a second time, after a time-out.
TEST(AnalyzeCopies, ASecondDeliveryWhileTheRequesterGoesBackIsNoTimeOut) {
  WireScript script;
  requests(script, {5, 7, 8, 9});
  script.nak(NakCode::kPsnSequenceError, 6);
  requests(script, {6, 7, 7, 8, 9});
  script.ack(9, 5);
  expect_no_timeout(script);
  EXPECT_EQ(script.repeats(RepeatReason::kDuplicate), 1U);
  EXPECT_EQ(script.repeats(RepeatReason::kSequenceNak), 3U);
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
}

/// They may as well be sent again early: that is a guess.
TEST(AnalyzeCopies, TwoNeighboursThatComeAgainAtOnceAreNoTimeOut) {
  WireScript script;
  requests(script, {5, 6, 7, 8, 6, 7});
  script.ack(8, 4);
  expect_no_timeout(script);
  EXPECT_EQ(script.repeats(RepeatReason::kProbe), 2U);
  EXPECT_EQ(script.flow().counts().guessed_probes, 2U);
}

/// The defect: the first of them seemed to be sent again after a time-out, because something
/// followed behind it.
TEST(AnalyzeCopies, TwoLatePacketsAreNoTimeOut) {
  WireScript script;
  requests(script, {5, 7, 9, 10, 6, 8});
  script.ack(10, 6);
  expect_no_timeout(script);
  EXPECT_EQ(script.flow().counts().out_of_order, 2U);
  EXPECT_EQ(script.flow().counts().lost_before, 0U);
}

/// The defect: the requester seemed to go back a second time.
TEST(AnalyzeCopies, ALatePacketOfARequesterThatGoesBackIsNoTimeOut) {
  WireScript script;
  requests(script, {5, 7, 8, 9, 10});
  script.nak(NakCode::kPsnSequenceError, 6);
  requests(script, {6, 7, 9, 8, 10});
  script.ack(10, 6);
  expect_no_timeout(script);
  EXPECT_EQ(script.repeats(RepeatReason::kSequenceNak), 3U);
  EXPECT_EQ(script.repeats(RepeatReason::kProbe), 0U);
  EXPECT_EQ(script.flow().counts().out_of_order, 1U);
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
}

TEST(AnalyzeCopies, ALatePacketBeforeOneThatIsDeliveredTwiceIsNoTimeOut) {
  WireScript script;
  requests(script, {5, 7, 8, 6, 7});
  script.ack(8, 4);
  expect_no_timeout(script);
  EXPECT_EQ(script.repeats(RepeatReason::kDuplicate), 1U);
}

/// Nothing asks for the lost packets; the requester sends them again after 67 ms.
TEST(AnalyzeCopies, TwoLostPacketsAreSentAgainAfterATimeOut) {
  WireScript script;
  script.connect(kAckTimeout);
  requests(script, {5, 7, 9, 10});
  script.wait_ms(70);
  requests(script, {6, 8, 9, 10});
  script.ack(10, 6);
  script.finish();
  EXPECT_EQ(script.flow().counts().timeouts, 1U);
  EXPECT_EQ(script.repeats(RepeatReason::kTimeout), 2U);
  EXPECT_EQ(script.flow().counts().out_of_order, 0U);
}

/// The defect: the repair's copy seemed to be the lost packet, late, which then did not count.
TEST(AnalyzeCopies, ARepairThatIsDeliveredTwiceWasNotOutOfOrder) {
  WireScript script;
  requests(script, {5, 7});
  script.ack(5, 1);
  script.gap_report(6, 1, 0);
  requests(script, {6, 6});
  script.gap_query(1);
  script.ack(7, 3);
  expect_no_timeout(script);
  EXPECT_EQ(script.flow().counts().out_of_order, 0U);
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
  EXPECT_EQ(script.repeats(RepeatReason::kDuplicate), 1U);
}

/// The NAK has crossed the packets: the requester obeys it although it is answered meanwhile.
TEST(AnalyzeCopies, WhatANakAsksForAgainIsNoTimeOut) {
  WireScript script;
  requests(script, {5, 6, 7});
  script.nak(NakCode::kPsnSequenceError, 6);
  requests(script, {6, 7});
  script.ack(7, 3);
  script.ask_for_ack = true;
  requests(script, {6, 7});
  script.ack(7, 3);
  expect_no_timeout(script);
  EXPECT_EQ(script.repeats(RepeatReason::kSequenceNak), 4U);
}

/// A pause of this length, then everything in flight comes again.
void go_back_after(WireScript& script, int64_t ms) {
  requests(script, {5, 6, 7});
  script.wait_ms(ms);
  requests(script, {5, 6, 7});
  script.ack(7, 3);
  script.finish();
}

TEST(AnalyzeCopies, WhatIsSoonerThanTheTimeoutOfTheRequestIsNoTimeOut) {
  for (const int64_t ms : {1, 60, 70}) {
    WireScript script;
    script.connect(kAckTimeout);
    go_back_after(script, ms);
    const bool sooner = ms < 67;
    EXPECT_EQ(script.flow().counts().timeouts, sooner ? 0U : 1U) << ms;
    EXPECT_EQ(script.repeats(RepeatReason::kTimeout), sooner ? 0U : 3U) << ms;
    EXPECT_EQ(script.repeats(RepeatReason::kProbe), sooner ? 3U : 0U) << ms;
    EXPECT_EQ(script.flow().counts().guessed_probes, 0U);
  }
}

/// soft-RoCE counts in ticks of the kernel, and rounds down.
TEST(AnalyzeCopies, ATimerThatCountsTicksMayBeEarly) {
  for (const int64_t ms : {30, 60}) {
    WireScript script;
    script.connect(kAckTimeout);
    for (const uint16_t identification : {uint16_t{700}, uint16_t{702}}) {
      script.identification = identification;
      requests(script, {5, 6});
      script.wait_ms(ms);
    }
    script.ack(6, 2);
    script.finish();
    EXPECT_EQ(script.flow().counts().timeouts, ms == 60 ? 1U : 0U);
  }
}

/// The network's copy does not start the timer again.
TEST(AnalyzeCopies, ATimeOutIsMeasuredFromTheSendingNotFromItsCopy) {
  WireScript script;
  script.connect(kAckTimeout);
  requests(script, {5, 6});
  script.wait_us(-900);
  requests(script, {5});
  script.wait_us(66'050);  // 67.15 ms behind the sending, not behind the copy
  requests(script, {5, 6});
  script.ack(6, 2);
  script.finish();
  EXPECT_EQ(script.flow().counts().timeouts, 1U);
  EXPECT_EQ(script.repeats(RepeatReason::kDuplicate), 1U);
  EXPECT_EQ(script.repeats(RepeatReason::kTimeout), 2U);
}

TEST(AnalyzeCopies, WithoutAnExchangeAnEarlyGoBackIsAGuess) {
  for (const int64_t ms : {4, 20}) {
    WireScript script;
    go_back_after(script, ms);
    const bool sooner = ms == 4;
    EXPECT_EQ(script.flow().counts().timeouts, sooner ? 0U : 1U) << ms;
    EXPECT_EQ(script.repeats(RepeatReason::kProbe), sooner ? 3U : 0U) << ms;
    EXPECT_EQ(script.flow().counts().guessed_probes, sooner ? 3U : 0U) << ms;
  }
}

}  // namespace
}  // namespace urxe::test
