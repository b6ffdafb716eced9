// SPDX-License-Identifier: BSD-2-Clause
// Requesters that go back, and what that must not be taken for. Found by urxe_analyze_truth.
#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"

namespace urxe::test {
namespace {

using analyze::RepeatReason;

/// The NAK comes when the packet is on its way already, because the requester went back before. It
/// goes back once more: its packets are not late, nor delivered twice.
TEST(AnalyzeGoBack, ASecondTimeIsNoSecondDelivery) {
  WireScript script;
  for (const uint32_t psn : {5U, 7U, 8U, 9U}) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 6);
  for (int time = 0; time < 2; ++time) {
    for (const uint32_t psn : {6U, 7U, 8U, 9U}) {
      script.request(Operation::kSendOnly, psn);
      script.wait_us(-990);
    }
  }
  script.ack(9, 5);
  script.finish();
  EXPECT_EQ(script.repeats(RepeatReason::kDuplicate), 0U);
  EXPECT_EQ(script.repeats(RepeatReason::kSequenceNak), 7U);
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
  EXPECT_EQ(script.flow().counts().out_of_order, 0U);
}

/// The requester has missed a response, and asks again at once for all from there on.
TEST(AnalyzeGoBack, AskingAgainForResponsesIsNoSecondDelivery) {
  WireScript script;
  script.request(Operation::kReadRequest, 5, 0, 100);
  script.request(Operation::kFetchAdd, 6, 0);
  script.respond(Operation::kReadResponseOnly, 5, 100);
  script.respond(Operation::kAtomicAcknowledge, 6);
  script.wait_us(-3900);
  script.request(Operation::kReadRequest, 5, 0, 100);
  script.wait_us(-990);
  script.request(Operation::kFetchAdd, 6, 0);
  script.finish();
  EXPECT_EQ(script.repeats(RepeatReason::kDuplicate), 0U);
}

/// The defect: what was acknowledged between two probes counted as passed over, and lost.
TEST(AnalyzeGoBack, WhatWasAcknowledgedMeanwhileIsNotLost) {
  WireScript script;
  for (const uint32_t psn : {5U, 6U, 7U}) script.request(Operation::kSendOnly, psn);
  script.request(Operation::kReadRequest, 8, 0, 100);
  script.wait_ms(20);
  script.request(Operation::kSendOnly, 5);
  script.ack(7, 3);
  script.wait_ms(8);
  script.request(Operation::kReadRequest, 8, 0, 100);
  script.respond(Operation::kReadResponseOnly, 8, 100, 4);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_before, 0U);
  EXPECT_EQ(script.flow().counts().timeouts, 0U);
  EXPECT_EQ(script.repeats(RepeatReason::kProbe), 2U);
}

/// The RNR retries are spent. The defect: only the first message counted as lost.
TEST(AnalyzeGoBack, EachMessageThatWasSentAgainInVainIsLost) {
  WireScript script;
  for (int time = 0; time < 3; ++time) {
    for (const uint32_t psn : {5U, 6U, 7U}) script.request(Operation::kSendOnly, psn);
    script.ack(5, 0, rnr_syndrome(10));
  }
  EXPECT_TRUE(script.finish().found_something());
  EXPECT_EQ(script.repeats(RepeatReason::kRnrNak), 6U);
  EXPECT_EQ(script.flow().lost_messages(), 3U);
}

/// A query that was sent before the report can have come says nothing of the repair.
TEST(AnalyzeGoBack, AQueryThatCrossesTheReportMeansNoLoss) {
  WireScript script;
  for (const uint32_t psn : {5U, 7U, 9U}) script.request(Operation::kSendOnly, psn);
  script.ack(5, 1);
  script.gap_report(6, 1, 0);
  script.wait_ms(10);
  script.request(Operation::kSendOnly, 6);
  script.gap_report(8, 1, 0);
  script.gap_query(1);
  script.gap_report(8, 1, 1);
  script.request(Operation::kSendOnly, 8);
  script.ack(9);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_before, 2U);
}

}  // namespace
}  // namespace urxe::test
