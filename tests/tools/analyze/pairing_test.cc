// SPDX-License-Identifier: BSD-2-Clause
// Which responses belong to which requests, if many queue pairs begin with the same PSN.
#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"
#include "tools/analyze/report.h"

namespace urxe::test {
namespace {

using analyze::Stream;

/// Queue pair `i` of one side is connected with queue pair `i` of the other.
class ManyPairs {
 public:
  void request(uint32_t i, Operation operation, uint32_t psn, size_t payload = 100,
               uint32_t dma_length = 0) {
    Headers headers = begin(kResponders + i, operation, psn);
    headers.reth.dma_length = dma_length;
    script_.send(true, headers, payload);
  }
  void respond(uint32_t i, Operation operation, uint32_t psn, size_t payload = 0,
               uint8_t syndrome = kAckNoCredits) {
    Headers headers = begin(kRequesters + i, operation, psn);
    headers.aeth = {syndrome, Msn(0)};
    script_.send(false, headers, payload);
  }
  void ack(uint32_t i, uint32_t psn) { respond(i, Operation::kAcknowledge, psn); }

  const analyze::Analysis& finish() { return script_.finish(); }
  /// Expect: the requests of `pairs` queue pairs have found their responses, and all was answered.
  void expect_right(uint32_t pairs) {
    const analyze::Analysis& analysis = finish();
    EXPECT_FALSE(analysis.found_something()) << analyze::text_report(analysis);
    uint32_t found = 0;
    for (const Stream& stream : analysis.connections().streams()) {
      EXPECT_EQ(stream.unmatched_responses, 0U) << analyze::text_report(analysis);
      if (stream.dest_qp.value() < kResponders) continue;
      ++found;
      ASSERT_NE(stream.opposite, nullptr) << stream.dest_qp.value();
      EXPECT_EQ(stream.opposite->dest_qp.value(),
                stream.dest_qp.value() - kResponders + kRequesters);
      EXPECT_TRUE(stream.requests.messages().outstanding().empty()) << stream.dest_qp.value();
      EXPECT_EQ(stream.requests.counts().timeouts, 0U);
      EXPECT_EQ(stream.requests.counts().stray_responses, 0U);
    }
    EXPECT_EQ(found, pairs);
  }

 private:
  static constexpr uint32_t kRequesters = 0x100;
  static constexpr uint32_t kResponders = 0x10000;

  static Headers begin(uint32_t dest_qp, Operation operation, uint32_t psn) {
    Headers headers;
    headers.bth.opcode = Opcode(Service::kRc, operation);
    headers.bth.dest_qp = Qpn(dest_qp);
    headers.bth.psn = Psn(psn);
    return headers;
  }
  WireScript script_;
};

/// The defect: a READ response was matched to a SEND of another queue pair, a violation.
TEST(AnalyzePairing, AReadResponseGoesToTheOneThatReads) {
  ManyPairs pairs;
  pairs.request(0, Operation::kReadRequest, 0, 0, 200);
  pairs.request(0, Operation::kSendOnly, 1);
  pairs.request(1, Operation::kSendOnly, 0);
  pairs.respond(0, Operation::kReadResponseOnly, 0, 200);
  pairs.ack(1, 0);
  pairs.ack(0, 1);
  pairs.expect_right(2);
}

/// The defect: a READ response without data was not taken for the answer to a request whose RETH
/// names bytes.
TEST(AnalyzePairing, AtomicWriteAndFlushAreAnsweredWithoutData) {
  ManyPairs pairs;
  pairs.request(0, Operation::kAtomicWrite, 0, 8, 8);
  pairs.request(1, Operation::kFlush, 0, 0, 64);
  pairs.request(2, Operation::kReadRequest, 0, 0, 64);
  pairs.respond(2, Operation::kReadResponseOnly, 0, 64);
  pairs.respond(0, Operation::kReadResponseOnly, 0);
  pairs.request(0, Operation::kAtomicWrite, 1, 8, 8);
  pairs.respond(1, Operation::kReadResponseOnly, 0);
  pairs.respond(0, Operation::kReadResponseOnly, 1);
  pairs.expect_right(3);
}

/// The defect: what came while several queue pairs were possible was lost for the account.
TEST(AnalyzePairing, WhatCameBeforeItIsClearCounts) {
  constexpr uint32_t kPairs = 20;
  ManyPairs pairs;
  for (uint32_t i = 0; i < kPairs; ++i) pairs.request(i, Operation::kReadRequest, 0, 0, 100);
  for (uint32_t i = kPairs; i-- > 0;) pairs.respond(i, Operation::kReadResponseOnly, 0, 100);
  for (uint32_t i = kPairs; i-- > 0;) {
    pairs.request(i, Operation::kSendOnly, 1);
    pairs.ack(i, 1);
  }
  pairs.expect_right(kPairs);
}

TEST(AnalyzePairing, SizesOfReadsTell) {
  constexpr uint32_t kPairs = 8;
  ManyPairs pairs;
  for (uint32_t i = 0; i < kPairs; ++i) pairs.request(i, Operation::kReadRequest, 0, 0, 10 + i);
  for (uint32_t i = kPairs; i-- > 0;) pairs.respond(i, Operation::kReadResponseOnly, 0, 10 + i);
  pairs.expect_right(kPairs);
}

/// A NAK that came while several were possible still explains what was sent again.
TEST(AnalyzePairing, ANakIsRememberedUntilItIsClear) {
  ManyPairs pairs;
  for (uint32_t i = 0; i < 2; ++i) {
    for (const uint32_t psn : {0U, 1U, 2U}) pairs.request(i, Operation::kSendOnly, psn);
  }
  pairs.respond(0, Operation::kAcknowledge, 1, 0, nak_syndrome(NakCode::kPsnSequenceError));
  for (const uint32_t psn : {1U, 2U, 3U}) pairs.request(0, Operation::kSendOnly, psn);
  pairs.ack(0, 3);
  pairs.ack(1, 2);
  pairs.expect_right(2);
  const analyze::FlowCounts& counts =
      pairs.finish().connections().streams().front().requests.counts();
  EXPECT_EQ(counts.lost_after, 1U);
  EXPECT_EQ(counts.repeats.at(static_cast<size_t>(analyze::RepeatReason::kSequenceNak)), 2U);
}

/// If nothing tells, any order will do: nobody is said to be without an answer.
TEST(AnalyzePairing, WhatNothingTellsIsNoViolation) {
  constexpr uint32_t kPairs = 5;
  ManyPairs pairs;
  for (uint32_t i = 0; i < kPairs; ++i) pairs.request(i, Operation::kSendOnly, 7);
  for (uint32_t i = 0; i < kPairs; ++i) pairs.ack(i, 7);
  pairs.expect_right(kPairs);
}

TEST(AnalyzePairing, BothDirectionsTell) {
  ManyPairs pairs;
  for (uint32_t i = 0; i < 3; ++i) pairs.request(i, Operation::kSendOnly, 7);
  for (uint32_t i = 3; i-- > 0;) pairs.ack(i, 7);
  for (uint32_t i = 0; i < 3; ++i) {
    pairs.respond(i, Operation::kSendOnly, 1000 * i);
    pairs.request(i, Operation::kAcknowledge, 1000 * i, 0);
  }
  pairs.expect_right(3);
}

TEST(AnalyzePairing, WhatIsHeldIsBounded) {
  analyze::HeldPackets held;
  analyze::CapturedPacket packet;
  for (size_t i = 0; i < 2 * analyze::HeldPackets::kMost; ++i)
    held.add(analyze::HeldPacket(packet), true);
  EXPECT_EQ(held.packets().size(), analyze::HeldPackets::kMost);
  EXPECT_FALSE(held.is_complete());
}

/// Expect: more packets than can be held, and the responses still find their requests.
TEST(AnalyzePairing, ManyPacketsBeforeItIsClear) {
  constexpr uint32_t kPackets = 3000;
  ManyPairs pairs;
  for (uint32_t psn = 0; psn < kPackets; ++psn) {
    for (uint32_t i = 0; i < 2; ++i) pairs.request(i, Operation::kSendOnly, psn);
    for (uint32_t i = 2; i-- > 0;) pairs.ack(i, psn);
  }
  pairs.request(1, Operation::kSendOnly, kPackets);
  pairs.ack(1, kPackets);
  pairs.request(0, Operation::kSendOnly, kPackets);
  pairs.ack(0, kPackets);
  const analyze::Analysis& analysis = pairs.finish();
  EXPECT_FALSE(analysis.found_something());
  EXPECT_EQ(analyze::list_connections(analysis.connections()).size(), 2U);
  for (const Stream& stream : analysis.connections().streams()) {
    EXPECT_TRUE(stream.requests.messages().outstanding().empty());
  }
}

}  // namespace
}  // namespace urxe::test
