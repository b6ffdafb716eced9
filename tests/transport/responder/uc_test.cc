// SPDX-License-Identifier: BSD-2-Clause
// Unreliable connections: what the requester sends and when it completes, what the responder drops
// and where it begins again (IBTA vol. 1, 9.8.2, 9.9.3).
#include <gtest/gtest.h>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

BenchOptions uc() {
  BenchOptions options;
  options.type = IBV_QPT_UC;
  return options;
}

std::vector<uint8_t> full(uint8_t value) {
  return std::vector<uint8_t>(kMtu, value);
}

// --- The requester.

// Expect: no AckReq; the send completes when its last packet is out, without any answer.
TEST(UcRequester, SendCompletesWithItsLastPacket) {
  Bench bench(uc());
  bench.post(IBV_WR_SEND, 2 * kMtu + 1);
  EXPECT_EQ(bench.sent(), (Lines{"SEND First psn 100 len 1024", "SEND Middle psn 101 len 1024",
                                 "SEND Last psn 102 len 1"}));
  const auto wcs = bench.poll(*bench.send_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wcs[0].opcode, IBV_WC_SEND);
  EXPECT_FALSE(bench.device.next_deadline());
}

// Expect: what is in one batch with a message's end is a copy. The message completes before the
// batch is sent, and then the application may change its data.
TEST(UcRequester, APayloadElsewhereIsNotSentAfterItsCompletion) {
  Bench bench(uc());
  TxBatch::Limits three_packets;
  three_packets.bytes = 3 * (kMtu + 64);
  bench.post(IBV_WR_SEND, 5 * kMtu);
  EXPECT_EQ(bench.places_of_payloads(three_packets), Lines(3, "elsewhere"));
  EXPECT_TRUE(bench.send_statuses().empty());
  EXPECT_EQ(bench.places_of_payloads(three_packets), Lines(2, "in the batch"));
  EXPECT_EQ(bench.send_statuses().size(), 1U);
}

TEST(UcRequester, EveryOperation) {
  Bench bench(uc());
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND_WITH_IMM, 4, IBV_SEND_SOLICITED);
  bench.post(IBV_WR_RDMA_WRITE, kMtu + 1);
  bench.post(IBV_WR_RDMA_WRITE_WITH_IMM, 3);
  EXPECT_EQ(
      bench.sent(),
      (Lines{"SEND Only psn 100 len 0", "SEND Only Immediate psn 101 solicited imm 0x1020304 len 4",
             "WRITE First psn 102 va 0x5000 rkey 0x77 dma 1025 len 1024",
             "WRITE Last psn 103 len 1",
             "WRITE Only Immediate psn 104 va 0x5000 rkey 0x77 dma 3 imm 0x1020304 len 3"}));
  EXPECT_EQ(bench.send_statuses().size(), 4U);
}

// Expect: PSNs wrap at 24 bits.
TEST(UcRequester, PsnWraps) {
  BenchOptions options = uc();
  options.connect.sq_psn = 0xffffff;
  Bench bench(options);
  bench.post(IBV_WR_SEND, kMtu + 1);
  EXPECT_EQ(bench.sent(), (Lines{"SEND First psn 16777215 len 1024", "SEND Last psn 0 len 1"}));
}

// 10.3.1.6. Expect: a bad local key fails the send and flushes the rest; the queue pair is in SQE
// and goes on receiving; RTS sends again, with the next PSN.
TEST(UcRequester, LocalErrorLeadsToSqe) {
  Bench bench(uc());
  bench.post_receive();
  sim::SendRequest bad;
  bad.sges = {{0x1000, 8, LKey{0xdead}}};
  bench.post(IBV_WR_SEND, 1);
  bench.post(bad);
  bench.post(IBV_WR_SEND, 1);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 len 1"}));
  EXPECT_EQ(bench.send_statuses(),
            (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_LOC_PROT_ERR}, {3, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_SQE);

  bench.post(IBV_WR_SEND, 1);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{4, IBV_WC_WR_FLUSH_ERR}}));
  bench.receive(Operation::kSendOnly, kRqPsn, {}, {1});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));

  EXPECT_EQ(bench.move_to(IBV_QPS_RTS), 0);
  bench.post(IBV_WR_SEND, 1);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 101 len 1"}));
}

// Expect: what was posted in SQE is flushed even where the device first looks at it in RTS.
TEST(UcRequester, PostedInSqeIsFlushedAfterRts) {
  Bench bench(uc());
  sim::SendRequest bad;
  bad.sges = {{0x1000, 8, LKey{0xdead}}};
  bench.post(bad);
  bench.sent();
  bench.post(IBV_WR_SEND, 1);
  EXPECT_EQ(bench.move_to(IBV_QPS_RTS), 0);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}, {2, IBV_WC_WR_FLUSH_ERR}}));
}

// 10.3.1.5. Expect: SQD starts nothing; the event comes at once as nothing is under way.
TEST(UcRequester, DrainedSendQueueStartsNothing) {
  Bench bench(uc());
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  ASSERT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY,
                                     bench.now));
  EXPECT_EQ(bench.events(), (std::vector<ibv_event_type>{IBV_EVENT_SQ_DRAINED}));
  bench.post(IBV_WR_SEND, 1);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.move_to(IBV_QPS_RTS), 0);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 len 1"}));
}

// Expect: SQD finishes the message that has begun, and then says that it has.
TEST(UcRequester, DrainFinishesTheMessage) {
  Bench bench(uc());
  bench.post(IBV_WR_SEND, 3 * kMtu);
  bench.post(IBV_WR_SEND, 1);
  TxBatch small(TxBatch::Limits{64 * 1024, 1});
  ASSERT_TRUE(bench.device.transmit(small, bench.now, AckPolicy::kAll));  // the first packet
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  ASSERT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY,
                                     bench.now));
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
  EXPECT_EQ(bench.sent(), (Lines{"SEND Middle psn 101 len 1024", "SEND Last psn 102 len 1024"}));
  EXPECT_EQ(bench.events(), (std::vector<ibv_event_type>{IBV_EVENT_SQ_DRAINED}));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: a window is bound and a key invalidated in turn, with completions.
TEST(UcRequester, LocalOperations) {
  Bench bench(uc());
  sim::SendRequest invalidate;
  invalidate.opcode = IBV_WR_LOCAL_INV;
  invalidate.invalidate = RKey{0xdead};  // not a window
  bench.post(IBV_WR_SEND, 0);
  bench.post(invalidate);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 len 0"}));
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_MW_BIND_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_SQE);
}

// --- The responder.

// Expect: data in the receive, a completion, no answer.
TEST(UcResponder, SendOfThreePackets) {
  Bench bench(uc());
  bench.post_receive();
  Headers immediate;
  immediate.immediate_be = 0x11223344;
  bench.receive(Operation::kSendFirst, 200, {}, full(1));
  bench.receive(Operation::kSendMiddle, 201, {}, full(2));
  bench.receive(Operation::kSendLastImm, 202, immediate, {3});
  EXPECT_EQ(bench.sent(), Lines{});
  const auto wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wcs[0].byte_len, 2 * kMtu + 1);
  EXPECT_EQ(wcs[0].imm_data, 0x11223344U);
  EXPECT_EQ(wcs[0].wc_flags, static_cast<unsigned>(IBV_WC_WITH_IMM));
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + kMtu], 2);
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + 2 * kMtu], 3);
}

// Expect: an AckReq is not answered either.
TEST(UcResponder, AnswersNothing) {
  Bench bench(uc());
  bench.post_receive();
  Headers headers;
  headers.bth.ack_req = true;
  bench.receive(Operation::kSendOnly, 200, headers, {1});
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
}

TEST(UcResponder, WriteWithImmediate) {
  Bench bench(uc());
  bench.post_receive();
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kWriteFirst, 200, bench.reth(Bench::kTargetVa, rkey, kMtu + 2), full(1));
  bench.receive(Operation::kWriteLastImm, 201, {}, {3, 4});
  const auto wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].opcode, IBV_WC_RECV_RDMA_WITH_IMM);
  EXPECT_EQ(wcs[0].byte_len, kMtu + 2);
  EXPECT_EQ(bench.target[0], 1);
  EXPECT_EQ(bench.target[kMtu + 1], 4);
  EXPECT_EQ(bench.sent(), Lines{});
}

// 9.8.2.2.2. Expect: a lost Middle drops the message; the receive takes the next one whole.
TEST(UcResponder, LostMiddleDropsTheMessage) {
  Bench bench(uc());
  bench.post_receive();
  bench.receive(Operation::kSendFirst, 200, {}, full(1));
  bench.receive(Operation::kSendMiddle, 202, {}, full(2));
  bench.receive(Operation::kSendLast, 203, {}, {3});
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 2U);
  bench.receive(Operation::kSendOnly, 204, {}, {9});
  const auto wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].wr_id, 1U);
  EXPECT_EQ(wcs[0].byte_len, 1U);
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset], 9);
}

// Expect: a lost Last is noticed at the next First, which begins a message of its own, at the start
// of the same receive.
TEST(UcResponder, LostLastIsNoticedAtTheNextFirst) {
  Bench bench(uc());
  bench.post_receive();
  bench.receive(Operation::kSendFirst, 200, {}, full(1));
  bench.receive(Operation::kSendFirst, 202, {}, full(5));
  bench.receive(Operation::kSendLast, 203, {}, {6});
  const auto wcs = bench.poll(*bench.recv_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].byte_len, kMtu + 1);
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset], 5);
  EXPECT_EQ(bench.memory[Bench::kReceiveOffset + kMtu], 6);
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 1U);
}

// Expect: a lost First: the rest of the message is dropped.
TEST(UcResponder, LostFirst) {
  Bench bench(uc());
  bench.post_receive();
  bench.receive(Operation::kSendMiddle, 201, {}, full(1));
  bench.receive(Operation::kSendLast, 202, {}, {1});
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  bench.receive(Operation::kSendOnly, 203, {}, {1});
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
}

// Expect: the sequence begins anew at an Only, wherever it is, also beyond the wrap.
TEST(UcResponder, SequenceRestartsAtOnly) {
  Bench bench(uc());
  for (int i = 0; i < 3; ++i) bench.post_receive();
  bench.receive(Operation::kSendOnly, 0xffffff, {}, {1});
  bench.receive(Operation::kSendOnly, 0, {}, {1});
  bench.receive(Operation::kSendOnly, 77, {}, {1});
  EXPECT_EQ(bench.receive_statuses().size(), 3U);
}

// Expect: the Last of another kind of message does not end this one.
TEST(UcResponder, MixedMessage) {
  Bench bench(uc());
  bench.post_receive();
  bench.receive(Operation::kSendFirst, 200, {}, full(1));
  bench.receive(Operation::kWriteLast, 201, {}, {1});
  bench.receive(Operation::kSendLast, 202, {}, {1});
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.dropped(DropReason::kOutOfSequence), 2U);
}

// Expect: without a receive the whole message is dropped, silently; the next one is not.
TEST(UcResponder, NoReceive) {
  Bench bench(uc());
  bench.receive(Operation::kSendFirst, 200, {}, full(1));
  bench.post_receive();
  bench.receive(Operation::kSendLast, 201, {}, {1});
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.dropped(DropReason::kNoReceive), 1U);
  bench.receive(Operation::kSendOnly, 202, {}, {1});
  EXPECT_EQ(bench.receive_statuses().size(), 1U);
  EXPECT_EQ(bench.sent(), Lines{});
}

// Expect: the data of a WRITE with immediate is there, the immediate is lost.
TEST(UcResponder, WriteImmediateWithoutReceive) {
  Bench bench(uc());
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kWriteOnlyImm, 200, bench.reth(Bench::kTargetVa, rkey, 1), {7});
  EXPECT_EQ(bench.dropped(DropReason::kNoReceive), 1U);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
}

// Class D. Expect: a message longer than the receive is dropped; the receive stays.
TEST(UcResponder, TooLongForTheReceive) {
  Bench bench(uc());
  bench.post_receive(kMtu);
  bench.receive(Operation::kSendFirst, 200, {}, full(1));
  bench.receive(Operation::kSendLast, 201, {}, {1});
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  bench.receive(Operation::kSendOnly, 202, {}, {1});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
}

// Expect: a message that is too long takes no shared receive away from others.
TEST(UcResponder, TooLongForTheReceiveTakesNoSharedOne) {
  BenchOptions options = uc();
  options.shared_receives = true;
  Bench bench(options);
  bench.post_shared(3);
  bench.receive(Operation::kSendOnly, 200, {}, {1, 2, 3, 4});
  EXPECT_EQ(bench.dropped(DropReason::kMalformedRequest), 1U);
  EXPECT_EQ(bench.srq->waiting(), 1U);
  bench.receive(Operation::kSendOnly, 201, {}, {1, 2, 3});
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Class D. Expect: a bad key, a range beyond the region and a right that the queue pair has not
// given: dropped, no event, nothing written.
TEST(UcResponder, RefusedWrites) {
  Bench bench(uc());
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kWriteOnly, 200, bench.reth(Bench::kTargetVa, RKey{0xdead}, 1), {7});
  bench.receive(Operation::kWriteOnly, 201,
                bench.reth(Bench::kTargetVa + sizeof bench.target, rkey, 1), {7});
  ibv_qp_attr attr{};
  attr.qp_access_flags = IBV_ACCESS_LOCAL_WRITE;
  ASSERT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_ACCESS_FLAGS, bench.now));
  bench.receive(Operation::kWriteOnly, 202, bench.reth(Bench::kTargetVa, rkey, 1), {7});
  EXPECT_EQ(bench.dropped(DropReason::kMalformedRequest), 3U);
  EXPECT_EQ(bench.target[0], 0);
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
  EXPECT_EQ(bench.sent(), Lines{});
}

// Expect: lengths that do not add up: dropped.
TEST(UcResponder, BadLengths) {
  Bench bench(uc());
  bench.post_receive();
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kSendFirst, 200, {}, {1, 2});                         // not a path MTU
  bench.receive(Operation::kSendOnly, 201, {}, std::vector<uint8_t>(kMtu + 4));  // more than one
  bench.receive(Operation::kWriteOnly, 202, bench.reth(Bench::kTargetVa, rkey, 9), {1});
  bench.receive(Operation::kWriteFirst, 203, bench.reth(Bench::kTargetVa, rkey, kMtu), full(1));
  const Headers beyond = bench.reth(Bench::kTargetVa, rkey, 0x80000001);  // more than 2 GiB
  bench.receive(Operation::kWriteFirst, 204, beyond, full(1));
  EXPECT_EQ(bench.qp->trouble.check, Check::kMessageLength);
  EXPECT_EQ(bench.dropped(DropReason::kMalformedRequest), 5U);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
}

// Class A. Expect: a receive with a bad local key fails, and the queue pair with it.
TEST(UcResponder, BadReceiveFails) {
  Bench bench(uc());
  const Sge bad{0x1000, 64, LKey{0xdead}};
  ASSERT_TRUE(sim::post_receive(bench.device, *bench.qp, 1, {&bad, 1}));
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  EXPECT_EQ(bench.receive_statuses(),
            (Statuses{{1, IBV_WC_LOC_PROT_ERR}, {1, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// Expect: packets of another service and of another peer are not for this queue pair.
TEST(UcResponder, WrongServiceAndPeer) {
  Bench bench(uc());
  bench.post_receive();
  Headers headers;
  headers.bth.opcode = Opcode(Service::kRc, Operation::kSendOnly);
  headers.bth.dest_qp = Qpn{Bench::kQpn};
  headers.bth.psn = Psn{200};
  bench.receive_raw(headers, bench.flow_from_peer(), {1});
  EXPECT_EQ(bench.dropped(DropReason::kWrongService), 1U);
  headers.bth.opcode = Opcode(Service::kUc, Operation::kSendOnly);
  Flow stranger = bench.flow_from_peer();
  stranger.source.bytes[15] ^= 0x40;
  bench.receive_raw(headers, stranger, {1});
  EXPECT_EQ(bench.dropped(DropReason::kWrongPeer), 1U);
  EXPECT_EQ(bench.receive_statuses(), Statuses{});
}

// Expect: COMM_EST once, for the first packet in RTR.
TEST(UcResponder, EstablishedInRtr) {
  BenchOptions options = uc();
  options.state = IBV_QPS_RTR;
  Bench bench(options);
  bench.post_receive();
  bench.post_receive();
  bench.receive(Operation::kSendOnly, 200, {}, {1});
  bench.receive(Operation::kSendOnly, 201, {}, {1});
  EXPECT_EQ(bench.receive_statuses().size(), 2U);
  EXPECT_EQ(bench.events(), (std::vector<ibv_event_type>{IBV_EVENT_COMM_EST}));
}

}  // namespace
}  // namespace urxe::test
