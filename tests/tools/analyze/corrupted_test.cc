// SPDX-License-Identifier: BSD-2-Clause
// Packets with a wrong ICRC are corrupted, and not lost besides.
#include <gtest/gtest.h>

#include "tests/tools/analyze/wire_script.h"

namespace urxe::test {
namespace {

Headers send_only(uint32_t psn) {
  Headers headers;
  headers.bth.opcode = Opcode(Service::kRc, Operation::kSendOnly);
  headers.bth.dest_qp = kResponderQpn;
  headers.bth.psn = Psn(psn);
  return headers;
}

/// A request whose bit `flipped`, counted from the BTH, is not what was sent.
void corrupted(WireScript& script, uint32_t psn, size_t flipped) {
  std::vector<uint8_t> frame = script.build(true, send_only(psn), 100);
  frame[kIpv4HeaderBytes + kUdpHeaderBytes + flipped / 8] ^=
      static_cast<uint8_t>(1U << (flipped % 8));
  script.feed(frame);
}

void corrupted_response(WireScript& script, uint32_t psn) {
  Headers headers;
  headers.bth.opcode = Opcode(Service::kRc, Operation::kReadResponseMiddle);
  headers.bth.dest_qp = kRequesterQpn;
  headers.bth.psn = Psn(psn);
  std::vector<uint8_t> frame = script.build(false, headers, 256);
  frame.back() ^= 1;
  script.feed(frame);
}

struct Bit {
  const char* name;
  size_t bit;
};
constexpr Bit kBits[] = {{"opcode", 1},        {"queue pair", 7 * 8},
                         {"PSN, low", 11 * 8}, {"PSN, high", 9 * 8 + 7},
                         {"payload", 50 * 8},  {"ICRC", 112 * 8}};

/// The defect: it was corrupted, and then lost before it came.
TEST(AnalyzeCorrupted, APacketIsNotLostBesides) {
  for (const Bit& bit : kBits) {
    WireScript script;
    script.request(Operation::kSendOnly, 5);
    corrupted(script, 6, bit.bit);
    script.request(Operation::kSendOnly, 7);
    script.nak(NakCode::kPsnSequenceError, 6);
    for (const uint32_t psn : {6U, 7U}) script.request(Operation::kSendOnly, psn);
    script.ack(7, 3);
    const analyze::Analysis& analysis = script.finish();
    EXPECT_EQ(analysis.counts().bad_icrc, 1U) << bit.name;
    EXPECT_EQ(analysis.connections().streams().size(), 2U) << bit.name;
    EXPECT_EQ(script.flow().counts().corrupted, 1U) << bit.name;
    EXPECT_EQ(script.flow().counts().lost_before, 0U) << bit.name;
    EXPECT_EQ(script.flow().counts().lost_after, 0U) << bit.name;
    EXPECT_EQ(script.flow().counts().out_of_order, 0U) << bit.name;
  }
}

TEST(AnalyzeCorrupted, ALossBesideItStillCounts) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  corrupted(script, 6, 50 * 8);
  script.request(Operation::kSendOnly, 8);
  script.nak(NakCode::kPsnSequenceError, 6);
  for (const uint32_t psn : {6U, 7U, 8U}) script.request(Operation::kSendOnly, psn);
  script.ack(8, 4);
  script.finish();
  EXPECT_EQ(script.flow().counts().corrupted, 1U);
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
}

TEST(AnalyzeCorrupted, ARepeatMayBeCorruptedToo) {
  WireScript script;
  for (const uint32_t psn : {5U, 7U, 8U}) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 6);
  corrupted(script, 6, 50 * 8);
  for (const uint32_t psn : {7U, 8U}) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 6);
  for (const uint32_t psn : {6U, 7U, 8U}) script.request(Operation::kSendOnly, psn);
  script.ack(8, 4);
  script.finish();
  EXPECT_EQ(script.flow().counts().corrupted, 1U);
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
}

/// A corrupted packet explains one loss, not what happens to the packet later.
TEST(AnalyzeCorrupted, WhatComesWellAfterItIsForgotten) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  corrupted(script, 6, 50 * 8);
  script.wait_ms(20);
  for (const uint32_t psn : {6U, 7U, 8U}) script.request(Operation::kSendOnly, psn);
  script.nak(NakCode::kPsnSequenceError, 6);
  for (const uint32_t psn : {7U, 8U}) script.request(Operation::kSendOnly, psn);  // 6 is lost again
  script.nak(NakCode::kPsnSequenceError, 6);
  for (const uint32_t psn : {6U, 7U, 8U}) script.request(Operation::kSendOnly, psn);
  script.ack(8, 4);
  script.finish();
  EXPECT_EQ(script.flow().counts().corrupted, 1U);
  EXPECT_EQ(script.flow().counts().lost_after, 1U);
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
}

TEST(AnalyzeCorrupted, AResponseIsNotMissingBesides) {
  WireScript script;
  script.request(Operation::kReadRequest, 5, 0, 1000);
  script.respond(Operation::kReadResponseFirst, 5, 256);
  corrupted_response(script, 6);
  script.respond(Operation::kReadResponseMiddle, 7, 256);
  script.respond(Operation::kReadResponseLast, 8, 232);
  script.request(Operation::kReadRequest, 6, 0, 744);
  script.finish();
  EXPECT_EQ(script.flow().counts().corrupted_responses, 1U);
  EXPECT_EQ(script.flow().counts().missing_responses, 0U);
}

/// In a gap of a million responses not each one is looked for among those with a wrong ICRC.
TEST(AnalyzeCorrupted, AHugeGapIsNotLookedThrough) {
  constexpr uint32_t kResponses = 1 << 20;
  WireScript script;
  script.request(Operation::kReadRequest, 5, 0, kResponses * 256);
  script.respond(Operation::kReadResponseFirst, 5, 256);
  corrupted_response(script, 6 + kResponses / 2);
  script.respond(Operation::kReadResponseLast, 4 + kResponses, 256);
  script.finish();
  EXPECT_EQ(script.flow().counts().corrupted_responses, 1U);
  EXPECT_EQ(script.flow().counts().missing_responses, kResponses - 2);
}

/// The defect: each response behind a missing one counted the others before it, too.
TEST(AnalyzeCorrupted, AMissingResponseCountsOnce) {
  WireScript script;
  script.request(Operation::kReadRequest, 5, 0, 1280);
  script.respond(Operation::kReadResponseFirst, 5, 256);
  script.respond(Operation::kReadResponseMiddle, 7, 256);
  script.respond(Operation::kReadResponseMiddle, 8, 256);
  script.respond(Operation::kReadResponseLast, 9, 256);
  script.finish();
  EXPECT_EQ(script.flow().counts().missing_responses, 1U);
}

TEST(AnalyzeCorrupted, AGapQueryIsNotLostBesides) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.gap_query(1);
  Headers headers;
  headers.bth.opcode = kGapQueryOpcode;
  headers.bth.dest_qp = kResponderQpn;
  headers.bth.psn = Psn(2);
  std::vector<uint8_t> frame = script.build(true, headers, 0);
  frame.back() ^= 1;
  script.feed(frame);
  script.gap_query(3);
  script.finish();
  EXPECT_EQ(script.flow().counts().corrupted, 1U);
  EXPECT_EQ(script.flow().counts().lost_before, 0U);
}

}  // namespace
}  // namespace urxe::test
