// SPDX-License-Identifier: BSD-2-Clause
// What a device tells of its queue pairs.
#include "transport/observation/qp_report.h"

#include <gtest/gtest.h>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

QpReport report_of(const Bench& bench) {
  return bench.device.report(0).value();
}

WaitReason waits_for(const Bench& bench) {
  return report_of(bench).waits_for;
}

TEST(QpReport, Addresses) {
  const Bench bench;
  const QpReport report = report_of(bench);
  EXPECT_EQ(report.qpn, Bench::kQpn);
  EXPECT_EQ(report.dest_qpn, Bench::kPeerQpn);
  EXPECT_TRUE(report.has_peer);
  EXPECT_EQ(report.local, bench.qp->flow().source);
  EXPECT_EQ(report.remote, bench.qp->flow().destination);
  EXPECT_EQ(report.mtu, kMtu);
  EXPECT_EQ(report.state, IBV_QPS_RTS);
  EXPECT_EQ(report.type, IBV_QPT_RC);
}

TEST(QpReport, CountsBothWays) {
  Bench bench;
  bench.post_receive();
  bench.post(IBV_WR_SEND, 100);
  bench.sent();
  bench.receive_ack(100);
  Headers request;
  request.bth.ack_req = true;
  bench.receive(Operation::kSendOnly, 200, request, {1, 2, 3, 4});
  bench.sent();
  bench.receive(Operation::kWriteOnly, 201,
                bench.reth(Bench::kTargetVa, bench.target_region->rkey, 4), {1, 2, 3, 4});
  const QpCounters counters = report_of(bench).counters;
  EXPECT_EQ(counters.sent_packets, 2U) << "the request and the ACK";
  EXPECT_EQ(counters.sent_bytes, 12U + 100 + 4 + 12 + 4 + 4);
  EXPECT_EQ(counters.received_packets, 3U);
  EXPECT_EQ(counters.received_bytes, 12U + 4 + 4 + 12 + 4 + 4 + 12 + 16 + 4 + 4);
  EXPECT_EQ(counters.sends_completed, 1U);
  EXPECT_EQ(counters.receives_completed, 1U);
  EXPECT_EQ(counters.requests_executed, 1U);
}

/// The packets of selective repair belong to what is received, as to what the peer has sent.
TEST(QpReport, CountsGapPackets) {
  BenchOptions options;
  options.keeps_requests = true;
  Bench bench(options);
  Headers query;
  query.bth.opcode = kGapQueryOpcode;
  query.bth.dest_qp = Qpn(Bench::kQpn);
  query.bth.psn = Psn(1);
  bench.receive_raw(query, bench.flow_from_peer(), {});
  EXPECT_EQ(report_of(bench).counters.received_packets, 1U);
  EXPECT_EQ(report_of(bench).counters.received_bytes, 12U + 4);
  // The peer says that it lacks a packet: that is sent again, and a query behind it.
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  Headers report;
  report.bth.opcode = kGapReportOpcode;
  report.bth.dest_qp = Qpn(Bench::kQpn);
  report.bth.psn = Psn(100);
  bench.receive_raw(report, bench.flow_from_peer(), {0, 0, 0, 1, 0, 0, 0, 0});
  EXPECT_EQ(report_of(bench).counters.received_packets, 2U);
  const Lines again = bench.sent();
  EXPECT_EQ(again.size(), 2U);
  EXPECT_EQ(report_of(bench).counters.sent_packets, bench.device.counters().sent_packets);
  EXPECT_EQ(report_of(bench).counters.sent_bytes, bench.device.counters().sent_bytes);
}

TEST(QpReport, CountsWhatGoesWrong) {
  BenchOptions options;
  options.connect.rnr_retry = 7;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(100, rnr_syndrome(1));
  bench.pass(milliseconds(1));
  bench.sent();
  bench.receive_ack(100);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_nak(101, NakCode::kPsnSequenceError);
  bench.sent();
  bench.receive(Operation::kSendOnly, 200, {}, {});
  const QpCounters counters = report_of(bench).counters;
  EXPECT_EQ(counters.rnr_naks_received, 1U);
  EXPECT_EQ(counters.sequence_naks_received, 1U);
  EXPECT_EQ(counters.retransmitted_packets, 2U);
  EXPECT_EQ(counters.rnr_naks_sent, 1U);
}

TEST(QpReport, FillOfTheQueues) {
  Bench bench;
  bench.post_receive();
  bench.post_receive();
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(100);
  const QpReport report = report_of(bench);
  EXPECT_EQ(report.send_queue.waiting, 1U);
  EXPECT_EQ(report.send_queue.capacity, 64U);
  EXPECT_EQ(report.receive_queue.waiting, 2U);
  EXPECT_EQ(report.send_cq.waiting, 1U);
  EXPECT_EQ(report.send_cq.capacity, 256U);
  EXPECT_EQ(report.outstanding, 1U);
  EXPECT_EQ(report.unacked_psn, 101U);
  EXPECT_EQ(report.next_psn, 102U);
}

/// The receive of a message that was too long is the next message's.
TEST(QpReport, CountsTheReceiveOfADroppedMessage) {
  BenchOptions options;
  options.type = IBV_QPT_UC;
  Bench bench(options);
  bench.post_receive(kMtu);
  bench.post_receive();
  const std::vector<uint8_t> full(kMtu);
  bench.receive(Operation::kSendFirst, 200, {}, full);
  bench.receive(Operation::kSendLast, 201, {}, {1});
  ASSERT_EQ(bench.dropped(DropReason::kMalformedRequest), 1U);
  EXPECT_EQ(report_of(bench).receive_queue.waiting, 2U);
  bench.receive(Operation::kSendOnly, 202, {}, {1});
  ASSERT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(report_of(bench).receive_queue.waiting, 1U);
}

TEST(QpReport, CountsTheReceiveOfADroppedDatagram) {
  BenchOptions options;
  options.type = IBV_QPT_UD;
  Bench bench(options);
  bench.post_receive(1);
  bench.receive(Operation::kSendOnly, 200, Bench::deth(), {1});
  ASSERT_EQ(bench.dropped(DropReason::kMalformedRequest), 1U);
  EXPECT_EQ(report_of(bench).receive_queue.waiting, 1U);
}

TEST(QpReport, WaitsForNothing) {
  EXPECT_EQ(waits_for(Bench()), WaitReason::kNothing);
}

TEST(QpReport, WaitsForAnAnswer) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  EXPECT_EQ(waits_for(bench), WaitReason::kAnswer);
  bench.receive_ack(100);
  EXPECT_EQ(waits_for(bench), WaitReason::kNothing);
}

/// No request goes behind those that a silent peer does not answer. After the second timeout they
/// count as lost: others may use their room.
TEST(QpReport, WaitsForASilentPeer) {
  Bench bench;
  for (int i = 0; i < 64; ++i) bench.post(IBV_WR_RDMA_WRITE, 32768);
  bench.sent();
  const uint32_t outstanding = report_of(bench).outstanding;
  ASSERT_GE(report_of(bench).window_used, report_of(bench).window);
  for (int i = 0; i < 2; ++i) {
    const auto deadline = bench.device.next_deadline();
    ASSERT_TRUE(deadline);
    bench.pass(*deadline - bench.now);
    bench.sent();
  }
  const QpReport report = report_of(bench);
  EXPECT_EQ(report.waits_for, WaitReason::kAnswer);
  EXPECT_EQ(report.outstanding, outstanding);
  EXPECT_EQ(report.send_queue.waiting, 64U);
  EXPECT_LT(report.window_used, report.window);
}

TEST(QpReport, WaitsForTheReceiver) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(100, rnr_syndrome(12));
  EXPECT_EQ(waits_for(bench), WaitReason::kReceiverNotReady);
}

TEST(QpReport, WaitsForAReceive) {
  Bench bench;
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(waits_for(bench), WaitReason::kReceive);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  EXPECT_EQ(waits_for(bench), WaitReason::kAnswer) << "its own requests go before";
  bench.receive_ack(100);
  EXPECT_EQ(waits_for(bench), WaitReason::kReceive);
  bench.post_receive();
  EXPECT_EQ(waits_for(bench), WaitReason::kNothing) << "the peer will send again";
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(waits_for(bench), WaitReason::kNothing);
  bench.receive(Operation::kSendOnly, 201, {}, {1});
  ASSERT_EQ(bench.move_to(IBV_QPS_ERR), 0);
  EXPECT_EQ(waits_for(bench), WaitReason::kNothing) << "nobody waits for an end";
}

TEST(QpReport, WaitsForASharedReceive) {
  BenchOptions options;
  options.shared_receives = true;
  Bench bench(options);
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(waits_for(bench), WaitReason::kReceive);
  bench.post_shared();
  EXPECT_EQ(waits_for(bench), WaitReason::kNothing);
}

TEST(QpReport, WaitsForReads) {
  Bench bench;
  for (int i = 0; i < 5; ++i) bench.post(IBV_WR_RDMA_READ, 8);
  bench.sent();
  EXPECT_EQ(waits_for(bench), WaitReason::kReads);
}

TEST(QpReport, WaitsAtAFence) {
  Bench bench;
  bench.post(IBV_WR_RDMA_READ, 8);
  bench.post(IBV_WR_SEND, 0, IBV_SEND_FENCE);
  bench.sent();
  EXPECT_EQ(waits_for(bench), WaitReason::kFence);
}

TEST(QpReport, WaitsForCredits) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(100, 0, 1);  // no credits beyond the first message
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  EXPECT_EQ(waits_for(bench), WaitReason::kCredits);
}

TEST(QpReport, WaitsForPacing) {
  Bench bench;
  ASSERT_TRUE(bench.device.set_rate_limit(*bench.qp, {1000, 2048, 1024}, bench.now));
  for (int i = 0; i < 8; ++i) bench.post(IBV_WR_RDMA_WRITE, 1024);
  bench.sent();
  EXPECT_EQ(waits_for(bench), WaitReason::kPacing);
}

TEST(QpReport, WaitsForTheWindow) {
  Bench bench;
  for (int i = 0; i < 64; ++i) bench.post(IBV_WR_RDMA_WRITE, 32768);
  bench.sent();
  EXPECT_EQ(waits_for(bench), WaitReason::kWindow);
  EXPECT_GE(report_of(bench).window_used, report_of(bench).window);
}

TEST(QpReport, WaitsForTheEndOfSqd) {
  Bench bench;
  ASSERT_EQ(bench.move_to(IBV_QPS_SQD), 0);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  EXPECT_EQ(waits_for(bench), WaitReason::kDrain);
}

TEST(QpReport, UcAndUdWaitForTheEndOfSqd) {
  for (const ibv_qp_type type : {IBV_QPT_UC, IBV_QPT_UD}) {
    BenchOptions options;
    options.type = type;
    Bench bench(options);
    ASSERT_EQ(bench.move_to(IBV_QPS_SQD), 0);
    EXPECT_EQ(waits_for(bench), WaitReason::kNothing);
    if (type == IBV_QPT_UD) {
      bench.post_datagram(8);
    } else {
      bench.post(IBV_WR_SEND, 0);
    }
    bench.sent();
    EXPECT_EQ(waits_for(bench), WaitReason::kDrain);
  }
}

TEST(QpReport, WaitsInAStateThatSendsNothing) {
  BenchOptions options;
  options.type = IBV_QPT_UD;
  Bench bench(options);
  sim::SendRequest request;
  request.opcode = IBV_WR_SEND;
  Sge sge = bench.local(8);
  sge.lkey = LKey{0xbad};
  request.sges = {sge};
  bench.post(request);
  bench.sent();
  ASSERT_EQ(bench.qp->state(), IBV_QPS_SQE);
  EXPECT_EQ(waits_for(bench), WaitReason::kNothing) << "all was flushed";
  bench.post_datagram(8);
  EXPECT_EQ(waits_for(bench), WaitReason::kState);
}

TEST(QpReport, DatagramsWaitForPacing) {
  BenchOptions options;
  options.type = IBV_QPT_UC;
  Bench bench(options);
  EXPECT_EQ(waits_for(bench), WaitReason::kNothing);
  ASSERT_TRUE(bench.device.set_rate_limit(*bench.qp, {1000, 2048, 1024}, bench.now));
  for (int i = 0; i < 8; ++i) bench.post(IBV_WR_RDMA_WRITE, 1024);
  bench.sent();
  EXPECT_EQ(waits_for(bench), WaitReason::kPacing);
}

TEST(QpReport, WaitsForRoomForResponses) {
  Bench bench;
  bench.device.set_receive_buffer(65536);
  for (int i = 0; i < 4; ++i) bench.post(IBV_WR_RDMA_READ, 32768);
  bench.sent();
  EXPECT_EQ(waits_for(bench), WaitReason::kReadRoom);
}

TEST(QpReport, PlacesAreKeptAndUsedAgain) {
  Bench bench;
  QpInit init;
  init.pd = bench.pd;
  init.send_cq = bench.send_cq;
  init.recv_cq = bench.recv_cq;
  init.cap = {4, 4, 1, 1, 0};
  init.qpn = Qpn(0x30);
  QueuePair* const second = bench.device.create_qp(init).value();
  init.qpn = Qpn(0x31);
  ASSERT_TRUE(bench.device.create_qp(init));
  EXPECT_EQ(bench.device.report_places(), 3U);
  bench.device.destroy_qp(second);
  EXPECT_FALSE(bench.device.report(1));
  EXPECT_EQ(bench.device.report(2).value().qpn, 0x31U);
  init.qpn = Qpn(0x32);
  ASSERT_TRUE(bench.device.create_qp(init));
  EXPECT_EQ(bench.device.report_places(), 3U);
  EXPECT_EQ(bench.device.report(1).value().qpn, 0x32U);
  EXPECT_FALSE(bench.device.report(3));
}

}  // namespace
}  // namespace urxe::test
