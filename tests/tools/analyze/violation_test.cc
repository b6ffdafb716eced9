// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>

#include "packet/base/bytes.h"
#include "tests/tools/analyze/wire_script.h"

namespace urxe::test {
namespace {

using analyze::Rule;

/// Expect: exactly one violation, of `rule`, in the last frame.
void expect_only(WireScript& script, Rule rule, uint64_t frame) {
  const auto& violations = script.finish().violations();
  ASSERT_EQ(violations.total(), 1U);
  EXPECT_EQ(violations.kept()[0].rule, rule) << analyze::rule_text(violations.kept()[0].rule).name;
  EXPECT_EQ(violations.kept()[0].frame, frame);
}

Headers send_only() {
  Headers headers;
  headers.bth.opcode = Opcode(Service::kRc, Operation::kSendOnly);
  headers.bth.dest_qp = kResponderQpn;
  return headers;
}

/// A frame with one byte of its BTH changed, and a right ICRC.
std::vector<uint8_t> changed(const WireScript& script, size_t at, uint8_t value) {
  const uint8_t a[4] = {192, 0, 2, 1};
  const uint8_t b[4] = {192, 0, 2, 2};
  std::vector<uint8_t> frame = script.build(true, send_only(), 8);
  frame[kIpv4HeaderBytes + kUdpHeaderBytes + at] = value;
  const Flow flow{Gid::from_ipv4(a), Gid::from_ipv4(b), 0xc123, 0, 64};
  write_icrc(flow, 0, std::span(frame).subspan(kIpv4HeaderBytes + kUdpHeaderBytes));
  return frame;
}

TEST(AnalyzeViolation, TransportVersion) {
  WireScript script;
  script.feed(changed(script, 1, 0x41));
  expect_only(script, Rule::kTransportVersion, 1);
}

TEST(AnalyzeViolation, ReservedOpcode) {
  WireScript script;
  script.feed(changed(script, 0, 0x1f));
  expect_only(script, Rule::kReservedOpcode, 1);
}

TEST(AnalyzeViolation, ABrokenPacketViolatesNothing) {
  WireScript script;
  std::vector<uint8_t> frame = script.build(true, send_only(), 8);
  frame[kIpv4HeaderBytes + kUdpHeaderBytes + 1] ^= 1;
  script.feed(frame);
  EXPECT_TRUE(script.finish().found_something());
  EXPECT_EQ(script.finish().violations().total(), 0U);
  EXPECT_EQ(script.finish().counts().bad_icrc_frames, std::vector<uint64_t>{1});
}

TEST(AnalyzeViolation, Solicited) {
  WireScript script;
  Headers headers = send_only();
  headers.bth.opcode = Opcode(Service::kRc, Operation::kWriteOnly);
  headers.reth.dma_length = 8;
  headers.bth.solicited = true;
  script.send(true, headers, 8);
  expect_only(script, Rule::kSolicited, 1);
}

TEST(AnalyzeViolation, PKeyOfNoPartition) {
  WireScript script;
  Headers headers = send_only();
  headers.bth.pkey = PKey(0x8000);
  script.send(true, headers, 8);
  expect_only(script, Rule::kInvalidPKey, 1);
}

TEST(AnalyzeViolation, FirstPacketsCarryAPathMtu) {
  WireScript script;
  script.request(Operation::kSendFirst, 5, 300);
  expect_only(script, Rule::kNotPathMtu, 1);
}

TEST(AnalyzeViolation, MiddlePacketsCarryTheSamePathMtu) {
  WireScript script;
  script.request(Operation::kSendFirst, 5, 1024);
  script.request(Operation::kSendMiddle, 6, 512);
  expect_only(script, Rule::kNotPathMtu, 2);
}

TEST(AnalyzeViolation, EmptyLastPacket) {
  WireScript script;
  script.request(Operation::kSendFirst, 5, 256);
  script.request(Operation::kSendLast, 6, 0);
  expect_only(script, Rule::kLastPacketSize, 2);
}

TEST(AnalyzeViolation, MiddleAfterOnly) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.request(Operation::kSendMiddle, 6, 256);
  expect_only(script, Rule::kOpcodeSequence, 2);
}

TEST(AnalyzeViolation, AMissingPacketExcusesTheSequence) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.request(Operation::kSendMiddle, 7, 256);
  EXPECT_EQ(script.finish().violations().total(), 0U);
}

TEST(AnalyzeViolation, AWriteLongerThanAnnounced) {
  WireScript script;
  script.request(Operation::kWriteFirst, 5, 256, 300);
  script.request(Operation::kWriteLast, 6, 100);
  expect_only(script, Rule::kMessageLength, 2);
}

TEST(AnalyzeViolation, ReservedSyndrome) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.ack(5, 1, 0x40);
  expect_only(script, Rule::kReservedSyndrome, 2);
}

TEST(AnalyzeViolation, MsnGoesBack) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.request(Operation::kSendOnly, 6);
  script.ack(5, 9);
  script.ack(6, 8);
  expect_only(script, Rule::kMsnBackwards, 4);
}

// The defect: a queue pair that was reset and began less than 65,536 PSNs further on was taken for
// the same one, and its MSN for one that goes back.
TEST(AnalyzeViolation, AResetQueuePairCountsItsMsnAnew) {
  WireScript script;
  for (uint32_t i = 0; i < 5; ++i) {
    script.request(Operation::kSendOnly, 100 + i);
    script.ack(100 + i, i + 1);
  }
  script.request(Operation::kSendOnly, 200);
  script.request(Operation::kSendOnly, 201);
  script.ack(200, 1);
  script.ack(201, 2);
  EXPECT_EQ(script.finish().violations().total(), 0U);
}

TEST(AnalyzeViolation, MsnGoesBackBehindAMissingPacket) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.ack(5, 9);
  script.request(Operation::kSendOnly, 7);
  script.ack(7, 8);
  expect_only(script, Rule::kMsnBackwards, 4);
}

TEST(AnalyzeViolation, AcksThatOvertakeEachOtherAreFine) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.request(Operation::kSendOnly, 6);
  script.ack(6, 10);
  script.ack(5, 9);
  EXPECT_EQ(script.finish().violations().total(), 0U);
}

TEST(AnalyzeViolation, ReadResponseOfTheWrongSize) {
  WireScript script;
  script.request(Operation::kReadRequest, 5, 0, 600);
  script.respond(Operation::kReadResponseFirst, 5, 256);
  script.respond(Operation::kReadResponseMiddle, 6, 256);
  script.respond(Operation::kReadResponseLast, 7, 80);
  expect_only(script, Rule::kReadResponseSize, 4);
}

TEST(AnalyzeViolation, ReadResponseThatEndsEarly) {
  WireScript script;
  script.request(Operation::kReadRequest, 5, 0, 600);
  script.respond(Operation::kReadResponseFirst, 5, 256);
  script.respond(Operation::kReadResponseLast, 6, 256);
  expect_only(script, Rule::kReadResponseOpcode, 3);
}

/// The defect: the path MTU is learnt from the responses to a READ that came late.
TEST(AnalyzeViolation, AReadThatFillsAHoleMayHaveMoreResponses) {
  WireScript script;
  script.request(Operation::kSendOnly, 5);
  script.request(Operation::kSendOnly, 16);
  script.nak(NakCode::kPsnSequenceError, 6);
  script.request(Operation::kReadRequest, 6, 0, 10240);
  script.request(Operation::kSendOnly, 16);
  script.respond(Operation::kReadResponseFirst, 6, 1024, 2);
  for (uint32_t psn = 7; psn < 15; ++psn) {
    script.respond(Operation::kReadResponseMiddle, psn, 1024, 2);
  }
  script.respond(Operation::kReadResponseLast, 15, 1024, 2);
  script.ack(16, 3);
  EXPECT_EQ(script.finish().violations().total(), 0U);
  EXPECT_EQ(script.flow().counts().missed, 0U);
  EXPECT_EQ(script.flow().counts().lost_before, 1U);
  EXPECT_TRUE(script.flow().messages().outstanding().empty());
}

TEST(AnalyzeViolation, AtomicAckToASend) {
  WireScript script;
  script.request(Operation::kSendOnly, 4);
  script.ack(4);
  script.request(Operation::kSendOnly, 5);
  script.respond(Operation::kAtomicAcknowledge, 5);
  expect_only(script, Rule::kResponseKind, 4);
}

TEST(AnalyzeViolation, AtomicAckToAFlush) {
  WireScript script;
  script.request(Operation::kFlush, 4, 0, 64);
  script.respond(Operation::kReadResponseOnly, 4);
  script.request(Operation::kFlush, 5, 0, 64);
  script.respond(Operation::kAtomicAcknowledge, 5);
  expect_only(script, Rule::kResponseKind, 4);
}

}  // namespace
}  // namespace urxe::test
