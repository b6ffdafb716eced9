// SPDX-License-Identifier: BSD-2-Clause
// What a device notes of things that a queue pair goes on after.
#include <gtest/gtest.h>

#include <functional>

#include "packet/wire/ip/grh.h"
#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

ErrorCause trouble_of(const Bench& bench) {
  return bench.device.report(0).value().trouble;
}

BenchOptions of_type(ibv_qp_type type) {
  BenchOptions options;
  options.type = type;
  return options;
}

TEST(LastTrouble, NoneInPeace) {
  Bench bench;
  bench.post_receive();
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(100);
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(trouble_of(bench).reason, ErrorReason::kNone);
}

TEST(LastTrouble, SequenceNak) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.pass(microseconds(7));
  bench.receive_nak(101, NakCode::kPsnSequenceError);
  const ErrorCause trouble = trouble_of(bench);
  EXPECT_EQ(trouble.reason, ErrorReason::kSequenceNak);
  EXPECT_EQ(trouble.psn, Psn(101));
  EXPECT_EQ(trouble.syndrome, nak_syndrome(NakCode::kPsnSequenceError));
  EXPECT_EQ(trouble.at, bench.now);
  EXPECT_EQ(bench.device.report(0).value().cause.reason, ErrorReason::kNone);
}

TEST(LastTrouble, RnrNak) {
  BenchOptions options;
  options.connect.rnr_retry = 1;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(100, rnr_syndrome(12));
  EXPECT_EQ(trouble_of(bench).reason, ErrorReason::kRnrNak);
  EXPECT_EQ(trouble_of(bench).syndrome, rnr_syndrome(12));
  const Instant first = bench.now;
  bench.pass(milliseconds(1));
  bench.sent();
  bench.receive_ack(100, rnr_syndrome(12));
  ASSERT_EQ(bench.qp->state(), IBV_QPS_ERR);
  EXPECT_EQ(trouble_of(bench).at, first) << "the second one has ended it";
}

TEST(LastTrouble, AckTimeout) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.pass(kAckTimeout);
  bench.sent();
  EXPECT_EQ(trouble_of(bench).reason, ErrorReason::kAckTimeout);
  EXPECT_EQ(trouble_of(bench).psn, Psn(100));
  EXPECT_EQ(trouble_of(bench).timeout, kTimeout);
}

TEST(LastTrouble, NoResponse) {
  Bench bench;
  bench.post(IBV_WR_RDMA_READ, 16);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.pass(microseconds(7));
  bench.receive_ack(101);  // an implied NAK (9.7.5.1)
  const ErrorCause trouble = trouble_of(bench);
  EXPECT_EQ(trouble.reason, ErrorReason::kNoResponse);
  EXPECT_EQ(trouble.psn, Psn(100));
  EXPECT_EQ(trouble.at, bench.now);
}

TEST(LastTrouble, TheLastMissingResponseIsAFailure) {
  BenchOptions options;
  options.connect.retry_cnt = 0;
  Bench bench(options);
  bench.post(IBV_WR_RDMA_READ, 16);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(101);
  ASSERT_EQ(bench.qp->state(), IBV_QPS_ERR);
  EXPECT_EQ(trouble_of(bench).reason, ErrorReason::kNone);
}

TEST(LastTrouble, NoReceive) {
  Bench bench;
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  const ErrorCause trouble = trouble_of(bench);
  EXPECT_EQ(trouble.reason, ErrorReason::kNoReceive);
  EXPECT_EQ(trouble.psn, Psn(200));
  EXPECT_EQ(trouble.syndrome, rnr_syndrome(12));
}

TEST(LastTrouble, Gap) {
  Bench bench;
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 203, {}, {1});
  EXPECT_EQ(trouble_of(bench).reason, ErrorReason::kGap);
  EXPECT_EQ(trouble_of(bench).psn, Psn(200)) << "the first that is missing";
}

TEST(LastTrouble, OutlivesReset) {
  Bench bench;
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  ASSERT_EQ(bench.move_to(IBV_QPS_RESET), 0);
  EXPECT_EQ(trouble_of(bench).reason, ErrorReason::kNoReceive);
}

struct DroppedMessage {
  const char* name;
  Check check;
  std::function<void(Bench&)> act;
};

const DroppedMessage kDropped[] = {
    {"longer than the receive", Check::kReceiveLength,
     [](Bench& b) {
       b.post_receive(2);
       b.receive(Operation::kSendOnly, 200, {}, {1, 2, 3});
     }},
    {"First shorter than the path MTU", Check::kPayloadLength,
     [](Bench& b) {
       b.post_receive();
       b.receive(Operation::kSendFirst, 200, {}, {1});
     }},
    {"WRITE Only shorter than its RETH", Check::kMessageLength,
     [](Bench& b) {
       b.receive(Operation::kWriteOnly, 200, b.reth(Bench::kTargetVa, b.target_region->rkey, 4),
                 {1});
     }},
    {"unknown key", Check::kUnknownKey,
     [](Bench& b) {
       b.receive(Operation::kWriteOnly, 200, b.reth(Bench::kTargetVa, RKey{0x12345678}, 1), {1});
     }},
    {"beyond the region", Check::kBounds,
     [](Bench& b) {
       b.receive(Operation::kWriteOnly, 200,
                 b.reth(Bench::kTargetVa + 8192, b.target_region->rkey, 1), {1});
     }},
    {"another message within a message", Check::kOpcodeSequence,
     [](Bench& b) {
       b.post_receive();
       b.receive(Operation::kSendFirst, 200, {}, std::vector<uint8_t>(kMtu, 1));
       b.receive(Operation::kSendOnly, 201, {}, {1});
     }},
};

TEST(LastTrouble, DroppedByUc) {
  for (const DroppedMessage& c : kDropped) {
    SCOPED_TRACE(c.name);
    Bench bench(of_type(IBV_QPT_UC));
    c.act(bench);
    const ErrorCause trouble = trouble_of(bench);
    EXPECT_EQ(trouble.reason, ErrorReason::kDropped);
    EXPECT_EQ(trouble.check, c.check);
    EXPECT_NE(trouble.opcode, ErrorCause::kNoOpcode);
    EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  }
}

TEST(LastTrouble, OperationNotEnabled) {
  BenchOptions options = of_type(IBV_QPT_UC);
  options.connect.access = 0;
  Bench bench(options);
  bench.receive(Operation::kWriteOnly, 200,
                bench.reth(Bench::kTargetVa, bench.target_region->rkey, 1), {1});
  EXPECT_EQ(trouble_of(bench).check, Check::kOperation);
}

/// The remains of a dropped message hide nothing.
TEST(LastTrouble, WhyTheMessageWasDropped) {
  Bench bench(of_type(IBV_QPT_UC));
  bench.receive(Operation::kWriteFirst, 200, bench.reth(Bench::kTargetVa, RKey{0x12345678}, 2048),
                std::vector<uint8_t>(kMtu, 1));
  bench.receive(Operation::kWriteLast, 201, {}, std::vector<uint8_t>(kMtu, 1));
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 1U);
  EXPECT_EQ(trouble_of(bench).check, Check::kUnknownKey);
  EXPECT_EQ(trouble_of(bench).key, 0x12345678U);
  EXPECT_EQ(trouble_of(bench).length, 2048U);
}

TEST(LastTrouble, NoReceiveForUc) {
  Bench bench(of_type(IBV_QPT_UC));
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(trouble_of(bench).reason, ErrorReason::kNoReceive);
  EXPECT_EQ(trouble_of(bench).syndrome, 0) << "nobody is told";
}

/// Whole messages may be missing: nothing else tells of them.
TEST(LastTrouble, GapOfUc) {
  Bench bench(of_type(IBV_QPT_UC));
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 205, {}, {1});
  EXPECT_EQ(trouble_of(bench).reason, ErrorReason::kGap);
  EXPECT_EQ(trouble_of(bench).psn, Psn(200));
}

TEST(LastTrouble, DroppedDatagrams) {
  Bench bench(of_type(IBV_QPT_UD));
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), {1});
  EXPECT_EQ(trouble_of(bench).reason, ErrorReason::kNoReceive);
  bench.post_receive(kGrhBytes + 3);
  bench.receive(Operation::kSendOnly, 1, Bench::deth(), {1, 2, 3, 4});
  EXPECT_EQ(trouble_of(bench).reason, ErrorReason::kDropped);
  EXPECT_EQ(trouble_of(bench).check, Check::kReceiveLength);
  bench.receive(Operation::kSendOnly, 2, Bench::deth(kQKey + 1), {1});
  EXPECT_EQ(trouble_of(bench).check, Check::kQKey);
  EXPECT_EQ(trouble_of(bench).psn, Psn(2));
  EXPECT_EQ(trouble_of(bench).dest_qpn, Bench::kPeerQpn) << "who has sent it";
  EXPECT_EQ(trouble_of(bench).remote, bench.flow_from_peer().source);
}

}  // namespace
}  // namespace urxe::test
