// SPDX-License-Identifier: BSD-2-Clause
// Packets that urxe sends again early, after a silence.
#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"
#include "tools/analyze/report.h"

namespace urxe::test {
namespace {

using analyze::RepeatReason;

/// What was found in a script that has one repeat of each of these reasons, and no loss.
void expect_only(WireScript& script, std::initializer_list<RepeatReason> reasons) {
  EXPECT_FALSE(script.finish().found_something());
  const analyze::FlowCounts& counts = script.flow().counts();
  uint64_t timeouts = 0;
  for (size_t i = 0; i < analyze::kRepeatReasons; ++i) {
    const auto reason = static_cast<RepeatReason>(i);
    const auto wanted = static_cast<uint64_t>(std::count(reasons.begin(), reasons.end(), reason));
    EXPECT_EQ(counts.repeats.at(i), wanted) << repeat_reason_name(reason);
    EXPECT_EQ(script.flow().trace().marks(repeat_event(reason)).seen(), wanted);
    if (reason == RepeatReason::kTimeout) timeouts = wanted;
  }
  EXPECT_EQ(counts.timeouts, timeouts);
  EXPECT_EQ(counts.lost_before + counts.lost_after + counts.out_of_order, 0U);
}

/// The defect: it was a time-out.
TEST(AnalyzeProbe, TheNewestPacketBeforeItsElders) {
  WireScript script;
  for (const uint32_t psn : {5U, 6U, 7U}) script.request(Operation::kSendOnly, psn);
  script.wait_ms(20);
  script.request(Operation::kSendOnly, 7);
  script.ack(7, 3);
  expect_only(script, {RepeatReason::kProbe});
}

/// The defect: what it passes over counted as lost.
TEST(AnalyzeProbe, TheNewestPacketAfterARepairPassesOverNothing) {
  WireScript script;
  for (uint32_t psn = 5; psn < 10; ++psn) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 6);
  script.request(Operation::kSendOnly, 6);
  script.wait_ms(4);
  script.request(Operation::kSendOnly, 9);
  script.ack(9, 5);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_before, 0U);
  EXPECT_EQ(script.flow().counts().lost_after, 1U);
  EXPECT_EQ(script.repeats(RepeatReason::kSequenceNak), 1U);
  EXPECT_EQ(script.repeats(RepeatReason::kProbe), 1U);
}

TEST(AnalyzeProbe, TheOldestPacketAlone) {
  WireScript script;
  for (const uint32_t psn : {5U, 6U, 7U}) script.request(Operation::kSendOnly, psn);
  script.wait_ms(20);
  script.request(Operation::kSendOnly, 5);
  script.ack(7, 3);
  script.request(Operation::kSendOnly, 8);
  script.ack(8, 4);
  expect_only(script, {RepeatReason::kProbe});
}

/// The defect: a time-out, which passed over the packets between them, so that they were lost.
TEST(AnalyzeProbe, TwoLateCopiesAreNoTimeOut) {
  WireScript script;
  for (uint32_t psn = 5; psn < 13; ++psn) script.request(Operation::kSendOnly, psn);
  script.ack(8, 4);
  script.request(Operation::kSendOnly, 13);
  for (const uint32_t psn : {6U, 13U}) {
    script.wait_us(-900);
    script.request(Operation::kSendOnly, psn);
  }
  script.ack(13, 9);
  expect_only(script, {RepeatReason::kProbe, RepeatReason::kDuplicate});
}

TEST(AnalyzeProbe, WhatGoesOnIsATimeOut) {
  WireScript script;
  for (const uint32_t psn : {5U, 6U}) script.request(Operation::kSendOnly, psn);
  script.wait_ms(20);
  for (const uint32_t psn : {5U, 6U}) script.request(Operation::kSendOnly, psn);
  script.ack(6, 2);
  script.finish();
  EXPECT_EQ(script.flow().counts().timeouts, 1U);
  EXPECT_EQ(script.repeats(RepeatReason::kTimeout), 2U);
}

TEST(AnalyzeProbe, TheOnlyPacketSoonerThanATimeOut) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.wait_ms(4);
  script.request(Operation::kSendOnly, 5);
  script.ack(5, 1);
  expect_only(script, {RepeatReason::kProbe});
}

/// Who counts identifications is not urxe: soft-RoCE has such time-outs.
TEST(AnalyzeProbe, TheOnlyPacketOfAnotherDeviceIsATimeOut) {
  WireScript script;
  for (const uint16_t identification : {uint16_t{700}, uint16_t{701}}) {
    script.identification = identification;
    script.request(Operation::kSendOnly, 5);
    script.wait_ms(4);
  }
  script.ack(5, 1);
  expect_only(script, {RepeatReason::kTimeout});
}

/// The defect: at the receiver, where both come at once, they were two deliveries of one packet.
TEST(AnalyzeProbe, APacketThatNowAsksForAnAckIsNotTheSameTwice) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.wait_us(-990);
  script.ask_for_ack = true;
  script.request(Operation::kSendOnly, 5);
  script.ack(5, 1);
  expect_only(script, {RepeatReason::kProbe});
}

TEST(AnalyzeProbe, APartOfARead) {
  WireScript script;
  script.request(Operation::kReadRequest, 5, 0, 768);
  script.respond(Operation::kReadResponseFirst, 5, 256);
  script.wait_ms(100);
  script.request(Operation::kReadRequest, 6, 0, 256);
  script.respond(Operation::kReadResponseOnly, 6, 256);
  EXPECT_EQ(script.finish().violations().total(), 0U) << "an Only answers that part";
  EXPECT_EQ(script.repeats(RepeatReason::kProbe), 1U);
}

/// One packet comes twice, 20 ms or 4 ms apart.
void repeat_alone(WireScript& script, int64_t ms) {
  script.request(Operation::kSendOnly, 5);
  script.wait_ms(ms);
  script.request(Operation::kSendOnly, 5);
  script.ack(5, 1);
}

TEST(AnalyzeProbe, TheOnlyPacketIsToldByAGuess) {
  for (const int64_t ms : {4, 20}) {
    WireScript script;
    repeat_alone(script, ms);
    expect_only(script, {ms == 4 ? RepeatReason::kProbe : RepeatReason::kTimeout});
    EXPECT_EQ(script.flow().counts().guessed_probes, 1U);
    const std::string said = text_report(script.finish());
    EXPECT_NE(said.find("1 packet by a guess: up to 8.00 ms a probe"), std::string::npos) << said;
  }
}

// Expect: the ACK timeout of the REQ decides, 67 ms or 2 ms. The defect: 8 ms did.
TEST(AnalyzeProbe, TheOnlyPacketIsToldByTheTimeoutOfTheRequest) {
  for (const uint8_t timeout : {uint8_t{14}, uint8_t{9}}) {
    WireScript script;
    script.connect(timeout);
    const bool is_long = timeout == 14;
    repeat_alone(script, is_long ? 20 : 4);
    expect_only(script, {is_long ? RepeatReason::kProbe : RepeatReason::kTimeout});
    EXPECT_EQ(script.flow().ack_timeout_ns(), int64_t{4096} << timeout);
    EXPECT_EQ(script.flow().counts().guessed_probes, 0U);
  }
}

// urxe asks with the newest packet, early after a silence and when its ACK timeout of 67 ms is
// over, which lasts 134 ms the second time. Expect: two time-outs. The defect: all were probes,
// because there had been one.
TEST(AnalyzeProbe, WhatComesAfterTheAckTimeoutIsATimeOut) {
  for (const bool alone : {true, false}) {
    WireScript script;
    script.connect(14);
    if (!alone) script.request(Operation::kSendOnly, 5);
    const uint32_t newest = alone ? 5 : 6;
    script.request(Operation::kSendOnly, newest);
    for (const int64_t ms : {3, 7, 55, 66, 66}) {
      script.wait_ms(ms);
      script.request(Operation::kSendOnly, newest);
    }
    script.ack(newest, 1);
    script.finish();
    EXPECT_EQ(script.flow().counts().timeouts, 2U) << alone;
    EXPECT_EQ(script.repeats(RepeatReason::kTimeout), 2U) << alone;
    EXPECT_EQ(script.repeats(RepeatReason::kProbe), 3U) << alone;
    EXPECT_EQ(script.flow().counts().lost_before, 0U) << alone;
  }
}

// No CM message tells the ACK timeout of 67 ms, which lasts 268 ms from the third time on.
// Expect: two time-outs, as the distance tells.
TEST(AnalyzeProbe, RepeatsAtTheSameDistanceAreTimeOuts) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  for (const int64_t ms : {3, 7, 268, 267}) {
    script.wait_ms(ms);
    script.request(Operation::kSendOnly, 5);
  }
  script.ack(5, 1);
  expect_only(script, {RepeatReason::kProbe, RepeatReason::kProbe, RepeatReason::kTimeout,
                       RepeatReason::kTimeout});
}

// The distance of probes has a bound.
TEST(AnalyzeProbe, RepeatsAtADistanceThatIsNoTimeoutAreProbes) {
  WireScript script;
  for (const int64_t ms : {0, 3, 306, 306}) {
    script.wait_ms(ms);
    script.request(Operation::kSendOnly, 5);
  }
  script.ack(5, 1);
  expect_only(script, {RepeatReason::kProbe, RepeatReason::kProbe, RepeatReason::kProbe});
}

// Expect: the timeout counts from the last answer on.
TEST(AnalyzeProbe, AnAnswerBeginsTheAckTimeoutAnew) {
  WireScript script;
  script.connect(14);
  for (const uint32_t psn : {5U, 6U}) script.request(Operation::kSendOnly, psn);
  script.wait_ms(40);
  script.request(Operation::kSendOnly, 6);
  script.ack(5, 1);
  script.wait_ms(40);
  script.request(Operation::kSendOnly, 6);
  script.ack(6, 2);
  expect_only(script, {RepeatReason::kProbe, RepeatReason::kProbe});
}

// The oldest packet alone: what is behind it need not follow.
TEST(AnalyzeProbe, TheOldestPacketAfterTheAckTimeoutIsATimeOut) {
  WireScript script;
  script.connect(14);
  for (const uint32_t psn : {5U, 6U, 7U}) script.request(Operation::kSendOnly, psn);
  for (const int64_t ms : {70, 140}) {
    script.wait_ms(ms);
    script.request(Operation::kSendOnly, 5);
  }
  script.ack(7, 3);
  expect_only(script, {RepeatReason::kTimeout, RepeatReason::kTimeout});
}

}  // namespace
}  // namespace urxe::test
