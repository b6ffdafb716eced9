// SPDX-License-Identifier: BSD-2-Clause
// READ responses that are lost or overtaken on the way to the capture point. urxe keeps what comes
// behind a gap, and asks only for what is missing; other requesters ask for all from there on.
#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"
#include "tools/analyze/psn_ranges.h"

namespace urxe::test {
namespace {

using analyze::MessageKind;
using analyze::PsnRanges;
using analyze::RepeatReason;

constexpr size_t kMtu = 256;
constexpr uint32_t kFirst = 5;

/// A READ of five responses with the PSNs 5 to 9, and of parts of it.
class ReadScript : public WireScript {
 public:
  static constexpr uint32_t kBytes = 4 * kMtu + 88;

  void read(uint32_t psn = kFirst, uint32_t bytes = kBytes) {
    request(Operation::kReadRequest, psn, 0, bytes);
  }
  void first(uint32_t psn) { respond(Operation::kReadResponseFirst, psn, kMtu); }
  void middle(uint32_t psn) { respond(Operation::kReadResponseMiddle, psn, kMtu); }
  void only(uint32_t psn) { respond(Operation::kReadResponseOnly, psn, kMtu); }
  void last(uint32_t psn, size_t bytes = 88) { respond(Operation::kReadResponseLast, psn, bytes); }

  [[nodiscard]] uint64_t answered() const {
    return flow().messages().counts().at(static_cast<size_t>(MessageKind::kRead)).answered;
  }
  [[nodiscard]] uint64_t missing() const { return flow().counts().missing_responses; }
  /// At the end: one READ was answered, and so many responses count as missing.
  void expect_answered(uint64_t responses_missing) {
    EXPECT_FALSE(finish().found_something());
    EXPECT_EQ(answered(), 1U);
    EXPECT_EQ(missing(), responses_missing);
  }
};

// The defect: a READ was answered only if its responses came in order up to its end.
TEST(AnalyzeReadRepair, OnlyWhatIsMissingIsAskedForAgain) {
  ReadScript script;
  script.read();
  script.first(5);
  script.middle(7);
  script.middle(8);
  script.last(9);
  script.read(6, kMtu);
  script.only(6);
  script.expect_answered(1);
  EXPECT_EQ(script.repeats(RepeatReason::kImpliedNak), 1U);
  EXPECT_EQ(script.flow().counts().repeated_responses, 0U);
  EXPECT_TRUE(script.flow().messages().outstanding().empty());
}

/// The repair comes between other responses, which are no gap behind it.
TEST(AnalyzeReadRepair, OtherResponsesFollowTheRepair) {
  ReadScript script;
  script.read();
  script.first(5);
  script.middle(7);
  script.read(6, kMtu);
  script.middle(8);
  script.only(6);
  script.last(9);
  script.expect_answered(1);
}

// The defect: the second request counted as a probe.
TEST(AnalyzeReadRepair, TwoGapsAreAskedForInARow) {
  ReadScript script;
  script.read();
  script.first(5);
  script.middle(7);
  script.last(9);
  script.read(6, kMtu);
  script.read(8, kMtu);
  script.only(6);
  script.only(8);
  script.expect_answered(2);
  EXPECT_EQ(script.repeats(RepeatReason::kImpliedNak), 2U);
}

TEST(AnalyzeReadRepair, ALongGapIsAskedForByOneRequest) {
  ReadScript script;
  script.read();
  script.first(5);
  script.last(9);
  script.read(6, 3 * kMtu);
  script.first(6);
  script.last(8, kMtu);
  script.only(7);
  script.expect_answered(3);
}

TEST(AnalyzeReadRepair, AnOvertakenResponseIsNotMissing) {
  ReadScript script;
  script.read();
  script.first(5);
  script.middle(8);
  script.middle(6);
  script.middle(7);
  script.last(9);
  script.expect_answered(0);
  EXPECT_EQ(script.flow().counts().repeated_responses, 0U);
}

/// urxe asks at once for what is missing; then both copies come.
TEST(AnalyzeReadRepair, AnOvertakenResponseIsNotMissingThoughAskedFor) {
  ReadScript script;
  script.read();
  script.first(5);
  script.middle(7);
  script.read(6, kMtu);
  script.middle(6);
  script.middle(8);
  script.last(9);
  script.only(6);
  script.expect_answered(0);
  EXPECT_EQ(script.flow().counts().repeated_responses, 1U);
}

/// The last one overtakes the first one.
TEST(AnalyzeReadRepair, TheFirstResponseComesLast) {
  ReadScript script;
  script.read();
  script.middle(6);
  script.middle(7);
  script.middle(8);
  script.last(9);
  script.first(5);
  script.expect_answered(0);
}

/// Each response was seen, although none of the two answers came as a whole.
TEST(AnalyzeReadRepair, ARequesterThatGoesBackAsksForAll) {
  ReadScript script;
  script.read();
  script.first(5);
  script.middle(7);
  script.middle(8);
  script.last(9);
  script.read(6, ReadScript::kBytes - kMtu);
  script.first(6);
  script.middle(8);
  script.last(9);
  script.expect_answered(1);
}

/// Two answers lack the same response. What is on its way when the requester goes back is no gap.
TEST(AnalyzeReadRepair, WhatIsLostTwiceCountsTwice) {
  ReadScript script;
  script.read();
  script.first(5);
  script.middle(7);
  script.read(6, ReadScript::kBytes - kMtu);
  script.middle(8);
  script.last(9);
  script.middle(7);
  script.middle(8);
  script.last(9);
  script.read(6, ReadScript::kBytes - kMtu);
  script.first(6);
  script.middle(7);
  EXPECT_FALSE(script.finish().found_something());
  EXPECT_EQ(script.answered(), 1U);
  EXPECT_LE(script.missing(), 2U);
  EXPECT_GE(script.missing(), 1U);
}

/// The responses were lost behind the capture point.
TEST(AnalyzeReadRepair, WhatWasSeenIsAskedForAgain) {
  ReadScript script;
  script.read();
  script.first(5);
  for (const uint32_t psn : {6U, 7U, 8U}) script.middle(psn);
  script.last(9);
  script.read(6, kMtu);
  script.only(6);
  script.expect_answered(0);
  EXPECT_EQ(script.flow().counts().repeated_responses, 1U);
}

TEST(AnalyzeReadRepair, AResponseThatNeverComesLeavesTheReadUnanswered) {
  ReadScript script;
  script.read();
  script.first(5);
  script.middle(7);
  script.middle(8);
  script.last(9);
  for (int i = 0; i < 3; ++i) {
    script.wait_ms(70);
    script.read(6, kMtu);
  }
  EXPECT_TRUE(script.finish().found_something());
  EXPECT_EQ(script.answered(), 0U);
  EXPECT_EQ(script.missing(), 1U);
  EXPECT_EQ(script.flow().lost_messages(), 1U);
}

/// The capture cut the RETHs: only the responses say where a READ ends. The answer to a part of it
/// does not.
TEST(AnalyzeReadRepair, ARepairDoesNotEndAReadOfUnknownLength) {
  ReadScript script;
  script.cut_at = 40;
  script.read();
  script.first(5);
  script.middle(7);
  script.read(6, kMtu);
  script.only(6);
  EXPECT_EQ(script.flow().messages().outstanding().size(), 1U);
  script.middle(8);
  script.last(9);
  script.expect_answered(1);
}

/// Before the first packet that the capture has: PSNs below 0 here.
TEST(AnalyzeReadRepair, AReadThatWasOvertakenByTheFirstPacketIsAnswered) {
  ReadScript script;
  script.request(Operation::kSendOnly, 6);
  script.read(5, 100);
  script.respond(Operation::kReadResponseOnly, 5, 100);
  script.ack(6);
  EXPECT_FALSE(script.finish().found_something());
  EXPECT_EQ(script.answered(), 1U);
}

TEST(AnalyzeReadRepair, PsnRangesAreBounded) {
  PsnRanges ranges;
  for (analyze::LongPsn psn = 0; psn < 100'000; psn += 2) ranges.add(psn, psn + 1);
  EXPECT_EQ(ranges.size(), PsnRanges::kMost);
  EXPECT_TRUE(ranges.has(99'998)) << "the newest are kept";
  EXPECT_FALSE(ranges.has(0));
}

TEST(AnalyzeReadRepair, PsnRangesMergeAndSplit) {
  PsnRanges ranges;
  ranges.add(5, 7);
  ranges.add(9, 12);
  ranges.add(7, 9);
  EXPECT_EQ(ranges.size(), 1U);
  EXPECT_EQ(ranges.end_of(5), 12);
  EXPECT_EQ(ranges.end_of(12), 12);
  ranges.remove(6, 10);
  EXPECT_EQ(ranges.size(), 2U);
  EXPECT_EQ(ranges.end_of(5), 6);
  EXPECT_EQ(ranges.next(6, 100), 10);
  EXPECT_EQ(ranges.next(12, 100), 100);
  ranges.add(0, 100);
  EXPECT_EQ(ranges.size(), 1U);
}

}  // namespace
}  // namespace urxe::test
