// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"

namespace urxe::test {
namespace {

using analyze::MessageKind;
using analyze::RepeatReason;
using analyze::RequestFlow;

uint64_t repeats(const WireScript& script, RepeatReason reason) {
  return script.flow().counts().repeats.at(static_cast<size_t>(reason));
}

const analyze::MessageCounts& sends(const WireScript& script) {
  return script.flow().messages().counts().at(static_cast<size_t>(MessageKind::kSend));
}

TEST(AnalyzeFlow, AnAckCompletesAllMessagesBeforeIt) {
  WireScript script;
  script.request(Operation::kSendOnly, 0xffffff);
  script.request(Operation::kSendFirst, 0, 256);
  script.request(Operation::kSendLast, 1);
  script.ack(1);
  const auto& analysis = script.finish();
  EXPECT_EQ(sends(script).answered, 2U);
  EXPECT_EQ(sends(script).latency.max(), 3'000'000);
  EXPECT_TRUE(script.flow().messages().outstanding().empty());
  EXPECT_EQ(analysis.connections().streams().at(0).opposite,
            &analysis.connections().streams().at(1));
  EXPECT_FALSE(analysis.found_something());
}

TEST(AnalyzeFlow, AFlushIsAnsweredByAReadResponseWithoutData) {
  WireScript script;
  script.request(Operation::kWriteOnly, 5, 100, 100);
  script.request(Operation::kFlush, 6, 0, 100);
  script.request(Operation::kWriteOnly, 7, 100, 100);
  script.respond(Operation::kReadResponseOnly, 6);
  script.ack(7);
  EXPECT_FALSE(script.finish().found_something());
  const auto& flushes =
      script.flow().messages().counts().at(static_cast<size_t>(MessageKind::kFlush));
  EXPECT_EQ(flushes.sent, 1U);
  EXPECT_EQ(flushes.answered, 1U);
  EXPECT_EQ(flushes.bytes, 0U);
  EXPECT_EQ(analyze::message_kind_name(MessageKind::kFlush), "flush");
}

// Expect: an ACK of what follows does not answer it.
TEST(AnalyzeFlow, AFlushNeedsItsOwnAnswer) {
  WireScript script;
  script.request(Operation::kFlush, 5, 0, 100);
  script.request(Operation::kWriteOnly, 6, 100, 100);
  script.ack(6);
  script.finish();
  EXPECT_EQ(script.flow().messages().outstanding().size(), 1U);
}

TEST(AnalyzeFlow, AHoleThatIsSentAgainWasLostBefore) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.request(Operation::kSendOnly, 7);
  script.nak(NakCode::kPsnSequenceError, 6);
  script.request(Operation::kSendOnly, 6);
  script.request(Operation::kSendOnly, 7);
  script.ack(7);
  EXPECT_FALSE(script.finish().found_something());
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
  EXPECT_EQ(script.flow().counts().lost_after, 0U);
  EXPECT_EQ(script.flow().counts().out_of_order, 0U);
  EXPECT_EQ(repeats(script, RepeatReason::kSequenceNak), 1U);
  EXPECT_EQ(sends(script).answered, 3U);
}

TEST(AnalyzeFlow, AHoleThatIsFilledAloneWasReordering) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.request(Operation::kSendOnly, 7);
  script.request(Operation::kSendOnly, 6);
  script.request(Operation::kSendOnly, 8);
  script.ack(8);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_before, 0U);
  EXPECT_EQ(script.flow().counts().out_of_order, 1U);
  EXPECT_EQ(sends(script).answered, 4U);
}

// The defect: to a peer that keeps what comes behind a gap urxe sends only the missing packet
// again, which was taken for one that was out of order.
TEST(AnalyzeFlow, AHoleThatANakAsksForWasLostBefore) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.request(Operation::kSendOnly, 7);
  script.nak(NakCode::kPsnSequenceError, 6);
  script.request(Operation::kSendOnly, 6);
  script.request(Operation::kSendOnly, 8);
  script.ack(8);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
  EXPECT_EQ(script.flow().counts().out_of_order, 0U);
  EXPECT_EQ(script.flow().counts().timeouts, 0U);
}

TEST(AnalyzeFlow, AHoleThatAReportAsksForWasLostBefore) {
  WireScript script;
  for (const uint32_t psn : {5, 6, 9, 10}) script.request(Operation::kSendOnly, psn);
  script.ack(6);
  script.gap_report(7, 1, 0);
  for (const uint32_t psn : {7, 8, 11}) script.request(Operation::kSendOnly, psn);
  script.ack(11);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
  EXPECT_EQ(script.flow().counts().out_of_order, 1U) << "8 came late, and nobody asked for it";
  EXPECT_EQ(script.flow().counts().timeouts, 0U);
}

TEST(AnalyzeFlow, AReportOfWhatPassedMeansALossBehind) {
  WireScript script;
  for (uint32_t psn = 5; psn < 12; ++psn) script.request(Operation::kSendOnly, psn);
  script.ack(5);
  script.gap_report(6, 2, 0);
  script.gap_report(6, 2, 0);
  for (const uint32_t psn : {6, 7, 12}) script.request(Operation::kSendOnly, psn);
  script.ack(12);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_after, 2U);
  EXPECT_EQ(script.flow().counts().lost_before, 0U);
  EXPECT_EQ(repeats(script, RepeatReason::kSequenceNak), 2U);
  EXPECT_EQ(script.flow().counts().timeouts, 0U);
}

/// A report knows of a copy only if it has seen a query that was sent behind it.
TEST(AnalyzeFlow, ARepairIsLostIfALaterQueryHasComeWithoutIt) {
  WireScript script;
  for (uint32_t psn = 5; psn < 9; ++psn) script.request(Operation::kSendOnly, psn);
  script.ack(5);
  script.gap_report(6, 1, 0);
  script.request(Operation::kSendOnly, 6);
  script.gap_query(1);
  script.gap_report(6, 1, 0);
  EXPECT_EQ(script.flow().counts().lost_after, 1U);
  script.gap_report(6, 1, 1);
  EXPECT_EQ(script.flow().counts().lost_after, 2U);
}

/// The defect: of a packet whose repair was lost, too, only one loss was found.
TEST(AnalyzeFlow, ALostRepairOfAHoleCountsOnceMore) {
  WireScript script;
  for (const uint32_t psn : {5U, 7U, 9U}) script.request(Operation::kSendOnly, psn);
  script.ack(5);
  script.gap_report(6, 1, 0);
  script.gap_report(8, 1, 0);
  script.request(Operation::kSendOnly, 6);
  script.gap_query(1);
  script.gap_report(8, 1, 0);  // it does not know of the repair
  script.gap_report(8, 1, 1);
  script.request(Operation::kSendOnly, 8);
  script.ack(9);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_before, 3U);
  EXPECT_EQ(script.flow().counts().out_of_order, 0U);
}

/// The defect: losses of these packets were not found.
TEST(AnalyzeFlow, ANumberThatQueriesSkipIsALoss) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  for (const uint32_t number : {3U, 4U, 4U, 7U, 8U}) script.gap_query(number);
  EXPECT_EQ(script.flow().counts().lost_before, 2U);
  script.gap_query(6);
  script.gap_query(6);
  EXPECT_EQ(script.flow().counts().lost_before, 1U) << "it was late";
  EXPECT_EQ(script.flow().counts().out_of_order, 1U);
  script.gap_query(1000);
  EXPECT_EQ(script.flow().counts().lost_before, 1U) << "the capture has a gap";
}

/// The defect: the second repair was taken for the packet itself, late.
TEST(AnalyzeFlow, ASecondRepairIsNoLatePacket) {
  WireScript script;
  for (const uint32_t psn : {5U, 7U}) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 6);
  script.request(Operation::kSendOnly, 6);
  script.gap_query(1);
  script.wait_us(-1950);  // both copies are within 250 microseconds
  script.request(Operation::kSendOnly, 6);
  script.gap_query(2);
  script.ack(7);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
  EXPECT_EQ(script.flow().counts().out_of_order, 0U);
  EXPECT_EQ(repeats(script, RepeatReason::kSequenceNak), 1U);
}

TEST(AnalyzeFlow, HostileReportsAreHarmless) {
  WireScript script;
  script.gap_report(6, 1, 0);
  script.request(Operation::kSendOnly, 5);
  script.ack(5);
  script.request(Operation::kSendOnly, 5000);
  for (const uint32_t psn : {0U, 5U, 6U, 4999U, 5000U, 5001U, 0x800000U}) {
    for (const uint32_t packets : {0U, 1U, 3U, 0xffffffffU}) {
      script.gap_report(psn, packets, 0xffffffff);
    }
  }
  script.ack(5000);
  script.finish();
  EXPECT_EQ(script.flow().counts().missed, 4994U) << "the hole keeps its size";
}

TEST(AnalyzeFlow, IdentificationsTellLateFromSentAgain) {
  WireScript script;
  for (const auto& [psn, id] : {std::pair{5, 10}, {7, 12}, {6, 11}}) {
    script.identification = static_cast<uint16_t>(id);
    script.request(Operation::kSendOnly, static_cast<uint32_t>(psn));
  }
  script.nak(NakCode::kPsnSequenceError, 6);
  script.finish();
  EXPECT_EQ(script.flow().counts().out_of_order, 1U);
  EXPECT_EQ(script.flow().counts().lost_after, 0U);
}

TEST(AnalyzeFlow, ANakOfWhatPassedMeansALossBehind) {
  WireScript script;
  for (uint32_t psn = 5; psn < 8; ++psn) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 6);
  for (uint32_t psn = 6; psn < 8; ++psn) script.request(Operation::kSendOnly, psn);
  script.ack(7);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_after, 1U);
  EXPECT_EQ(script.flow().counts().lost_before, 0U);
  EXPECT_EQ(repeats(script, RepeatReason::kSequenceNak), 2U);
}

TEST(AnalyzeFlow, APacketLostAgainWhenItIsSentAgainCountsTwice) {
  WireScript script;
  for (const uint32_t psn : {5, 7, 8, 9}) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 6);
  for (const uint32_t psn : {6, 8, 9}) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 7);
  for (const uint32_t psn : {7, 8, 9}) script.request(Operation::kSendOnly, psn);
  script.ack(9);
  script.finish();
  EXPECT_EQ(script.flow().counts().out_of_order, 0U);
  EXPECT_EQ(script.flow().counts().lost_before, 2U);
  EXPECT_EQ(script.flow().counts().lost_after, 0U);
}

TEST(AnalyzeFlow, ARepeatOfTheNewestPacketIsNoAnswerToANak) {
  WireScript script;
  for (uint32_t psn = 5; psn < 10; ++psn) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 6);
  script.request(Operation::kSendOnly, 9);
  for (uint32_t psn = 6; psn < 10; ++psn) script.request(Operation::kSendOnly, psn);
  script.ack(9);
  script.finish();
  EXPECT_EQ(script.flow().counts().lost_before, 0U);
  EXPECT_EQ(script.flow().counts().lost_after, 1U);
}

TEST(AnalyzeFlow, TheSameIdentificationIsTheSamePacketTwice) {
  WireScript script;
  script.identification = 77;
  script.request(Operation::kSendOnly, 5);
  script.request(Operation::kSendOnly, 5);
  script.finish();
  EXPECT_EQ(repeats(script, RepeatReason::kDuplicate), 1U);
  EXPECT_EQ(script.flow().lost_messages(), 0U);
}

TEST(AnalyzeFlow, TimeOutsInVainAreALostMessage) {
  WireScript script;
  for (int i = 0; i < 3; ++i) {
    script.request(Operation::kWriteOnly, 5, 100, 100);
    script.wait_ms(67);
  }
  EXPECT_TRUE(script.finish().found_something());
  EXPECT_EQ(repeats(script, RepeatReason::kTimeout), 2U);
  EXPECT_EQ(script.flow().lost_messages(), 1U);
  EXPECT_EQ(script.flow().turn(), RequestFlow::Turn::kResponder);
}

TEST(AnalyzeFlow, AnAckOfWhatWasNotSeenIsTheCapturesLoss) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.request(Operation::kSendOnly, 8);
  script.ack(8);
  EXPECT_FALSE(script.finish().found_something());
  EXPECT_EQ(script.flow().counts().missed, 2U);
  EXPECT_EQ(script.flow().counts().lost_before, 0U);
}

TEST(AnalyzeFlow, AnRnrNakMakesItTheRequestersTurn) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.ack(5, 0, rnr_syndrome(20));
  script.finish();
  EXPECT_EQ(script.flow().turn(), RequestFlow::Turn::kRequester);
  EXPECT_EQ(script.flow().counts().rnr_naks, 1U);
}

TEST(AnalyzeFlow, AReadTakesAsManyPsnsAsItHasResponses) {
  WireScript script;
  script.request(Operation::kReadRequest, 5, 0, 600);
  script.respond(Operation::kReadResponseFirst, 5, 256);
  script.respond(Operation::kReadResponseMiddle, 6, 256);
  script.respond(Operation::kReadResponseLast, 7, 88);
  script.request(Operation::kSendOnly, 8);
  script.ack(8);
  EXPECT_FALSE(script.finish().found_something());
  EXPECT_EQ(script.flow().missing(), 0U);
  EXPECT_EQ(script.flow().counts().missed, 0U);
  EXPECT_TRUE(script.flow().messages().outstanding().empty());
}

TEST(AnalyzeFlow, AMissingReadResponseIsAskedForAgain) {
  WireScript script;
  script.request(Operation::kReadRequest, 5, 0, 600);
  script.respond(Operation::kReadResponseFirst, 5, 256);
  script.respond(Operation::kReadResponseLast, 7, 88);
  script.request(Operation::kReadRequest, 6, 0, 344);
  script.respond(Operation::kReadResponseFirst, 6, 256);
  script.respond(Operation::kReadResponseLast, 7, 88);
  EXPECT_FALSE(script.finish().found_something());
  EXPECT_EQ(script.flow().counts().missing_responses, 1U);
  EXPECT_EQ(repeats(script, RepeatReason::kImpliedNak), 1U);
  EXPECT_TRUE(script.flow().messages().outstanding().empty());
}

TEST(AnalyzeFlow, AnErrorNakEndsTheConnection) {
  WireScript script;
  script.request(Operation::kWriteOnly, 5, 100, 100);
  script.nak(NakCode::kRemoteAccessError, 5);
  EXPECT_TRUE(script.finish().found_something());
  EXPECT_TRUE(script.flow().failed());
  ASSERT_EQ(script.flow().counts().error_naks.size(), 1U);
  EXPECT_EQ(script.flow().counts().error_naks[0].frame, 2U);
}

TEST(AnalyzeFlow, APsnFarAwayIsAnotherConnection) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.ack(5);
  script.request(Operation::kSendOnly, 0x400000);
  script.ack(0x400000);
  const auto& analysis = script.finish();
  EXPECT_EQ(analysis.connections().streams().size(), 4U);
  EXPECT_EQ(script.flow().missing(), 0U);
}

TEST(AnalyzeFlow, MemoryDoesNotGrowWithPackets) {
  WireScript script;
  // Nothing is answered, and every second packet is missing.
  for (uint32_t psn = 0; psn < 20000; psn += 2) script.request(Operation::kSendOnly, psn, 0);
  script.finish();
  EXPECT_LE(script.flow().messages().outstanding().size(), analyze::MessageQueue::kMaxOutstanding);
  EXPECT_EQ(script.flow().missing(), 9999U) << "what is forgotten still counts";
}

}  // namespace
}  // namespace urxe::test
