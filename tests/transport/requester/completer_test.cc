// SPDX-License-Identifier: BSD-2-Clause
// What answers do at the requester (IBTA vol. 1, 9.7.5, 9.9.2).
#include <gtest/gtest.h>

#include <cstring>
#include <initializer_list>
#include <utility>

#include "tests/transport/bench.h"

namespace urxe::test::completer_test {
namespace {

const std::vector<uint8_t> kFull(kMtu, 0xaa);

// 9.7.5.1.2. Expect: one ACK completes everything up to its PSN, in order.
TEST(Completer, AckCoalescing) {
  Bench bench;
  bench.post(IBV_WR_SEND, 2 * kMtu);
  bench.post(IBV_WR_RDMA_WRITE, 1);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(102);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  bench.receive_ack(103);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{3, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.sent(), Lines{});
}

// Expect: an ACK in the middle of a message completes nothing and resends nothing.
TEST(Completer, AckInTheMiddle) {
  Bench bench;
  bench.post(IBV_WR_SEND, 3 * kMtu);
  bench.sent();
  bench.receive_ack(101);
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  EXPECT_EQ(bench.sent(), Lines{});
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Last psn 102 ack len 1024"}));
}

TEST(Completer, FieldsOfCompletions) {
  Bench bench;
  bench.post(IBV_WR_SEND_WITH_IMM, 5);
  bench.post(IBV_WR_RDMA_WRITE_WITH_IMM, 5);
  bench.post(IBV_WR_RDMA_READ, 5);
  bench.post(IBV_WR_ATOMIC_CMP_AND_SWP, 8);
  bench.post(IBV_WR_ATOMIC_FETCH_AND_ADD, 16);  // more room than the result needs
  bench.sent();
  bench.receive_ack(101);
  bench.receive(Operation::kReadResponseOnly, 102, {}, counting(5));
  Headers original;
  original.atomic_original = 0x0123456789abcdef;
  bench.receive(Operation::kAtomicAcknowledge, 103, original);
  bench.receive(Operation::kAtomicAcknowledge, 104, original);
  const auto wcs = bench.poll(*bench.send_cq);
  ASSERT_EQ(wcs.size(), 5U);
  const ibv_wc_opcode opcodes[] = {IBV_WC_SEND, IBV_WC_RDMA_WRITE, IBV_WC_RDMA_READ,
                                   IBV_WC_COMP_SWAP, IBV_WC_FETCH_ADD};
  for (size_t i = 0; i < 5; ++i) {
    EXPECT_EQ(wcs[i].opcode, opcodes[i]);
    EXPECT_EQ(wcs[i].wr_id, i + 1);
    EXPECT_EQ(wcs[i].qp_num, Bench::kQpn);
  }
  EXPECT_EQ(wcs[2].byte_len, 5U);
  EXPECT_EQ(wcs[3].byte_len, 8U);
  EXPECT_EQ(wcs[4].byte_len, 8U);
  uint64_t found = 0;
  std::memcpy(&found, bench.memory.data(), 8);
  EXPECT_EQ(found, 0x0123456789abcdefU);  // in the host's order
}

// 9.7.5.1 (implied ACK). Expect: a READ response acknowledges what was before the READ.
TEST(Completer, ReadResponseImpliesAck) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.post(IBV_WR_RDMA_READ, 2 * kMtu);
  bench.sent();
  bench.receive(Operation::kReadResponseFirst, 102, {}, kFull);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  bench.receive(Operation::kReadResponseLast, 103, {}, kFull);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{3, IBV_WC_SUCCESS}}));
}

TEST(Completer, AtomicAcknowledgeImpliesAck) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
  bench.sent();
  bench.receive(Operation::kAtomicAcknowledge, 101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// 9.7.5.1.4 (implied NAK). Expect: an ACK beyond an unanswered READ sends READ and all after again.
TEST(Completer, AckBeyondAReadImpliesNak) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_RDMA_READ, 8);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(102);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.sent(), (Lines{"READ Request psn 101 ack va 0x5000 rkey 0x77 dma 8",
                                 "SEND Only psn 102 ack len 0"}));
  EXPECT_EQ(bench.device.counters().implied_naks, 1U);
}

// 9.7.5.1.4. Expect: a response that skips one sends the READ again from the one that is missing.
TEST(Completer, MissingReadResponseImpliesNak) {
  Bench bench;
  bench.post(IBV_WR_RDMA_READ, 3 * kMtu);
  bench.sent();
  bench.receive(Operation::kReadResponseFirst, 100, {}, kFull);
  bench.receive(Operation::kReadResponseLast, 102, {}, kFull);
  EXPECT_EQ(bench.sent(),
            (Lines{"GAP Query psn 1", "READ Request psn 101 ack va 0x5400 rkey 0x77 dma 2048"}));
  EXPECT_EQ(bench.send_statuses(), Statuses{});
}

// The defect: a READ whose end was refused while responses before it were lost was asked for again,
// from a peer that answers no more. Expect: the NAK is the READ's, at once; one of a later request
// implies that responses are lost (9.7.5.1.4).
TEST(Completer, NakOfAPartOfAReadIsTheReads) {
  for (const uint32_t refused : {101U, 102U, 103U}) {
    Bench bench;
    bench.post(IBV_WR_RDMA_READ, 3 * kMtu);
    bench.post(IBV_WR_SEND, 0);
    bench.sent();
    bench.receive_nak(refused, NakCode::kRemoteAccessError);
    const bool is_reads = refused < 103;
    EXPECT_EQ(
        bench.send_statuses(),
        is_reads ? (Statuses{{1, IBV_WC_REM_ACCESS_ERR}, {2, IBV_WC_WR_FLUSH_ERR}}) : Statuses{});
    EXPECT_EQ(bench.device.counters().implied_naks, is_reads ? 0U : 1U);
  }
}

// Expect: the device knows whether peers owe it answers, of all its queue pairs; not after a queue
// pair is gone that never got its own.
TEST(Completer, TheDeviceAwaitsAnswersUntilTheyHaveCome) {
  Bench bench;
  EXPECT_FALSE(bench.device.awaits_answers());
  bench.post(IBV_WR_SEND, 8);
  bench.post(IBV_WR_RDMA_READ, 1);
  bench.sent();
  EXPECT_TRUE(bench.device.awaits_answers());
  bench.receive_ack(100);
  EXPECT_TRUE(bench.device.awaits_answers()) << "the READ is not answered";
  bench.receive(Operation::kReadResponseOnly, 101, {}, {1});
  EXPECT_FALSE(bench.device.awaits_answers());
  bench.post(IBV_WR_SEND, 8);
  bench.sent();
  EXPECT_TRUE(bench.device.awaits_answers());
  bench.device.destroy_qp(bench.qp);
  EXPECT_FALSE(bench.device.awaits_answers());
}

// 9.7.5.1.1. Expect: ghost ACKs (of what is acknowledged, or was never sent) change nothing.
TEST(Completer, GhostAcksAreIgnored) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  for (const uint32_t psn : {101U, 99U, 50U, 0x800000U, 0xffffffU}) {
    bench.receive_ack(psn);
    bench.receive_nak(psn, NakCode::kInvalidRequest);
    bench.receive(Operation::kReadResponseOnly, psn, {}, {1});
    bench.receive(Operation::kAtomicAcknowledge, psn);
  }
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  EXPECT_EQ(bench.dropped(DropReason::kUnexpectedPsn), 20U);
  bench.receive_ack(100);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

// Expect: a response that was only late is still taken after going back.
TEST(Completer, LateResponseAfterGoingBack) {
  Bench bench;
  bench.post(IBV_WR_RDMA_READ, 2 * kMtu);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.pass(kAckTimeout);
  bench.sent();
  bench.receive(Operation::kReadResponseFirst, 100, {}, kFull);
  bench.receive(Operation::kReadResponseLast, 101, {}, kFull);
  bench.receive_ack(102);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  // Expect: the second answers to the same are ghosts.
  bench.sent();
  bench.receive(Operation::kReadResponseFirst, 100, {}, kFull);
  EXPECT_EQ(bench.dropped(DropReason::kUnexpectedPsn), 1U);
  EXPECT_EQ(bench.sent(), Lines{});
}

// Expect: a repeated READ response does not write the buffer again once the READ is complete.
TEST(Completer, RepeatedResponseDoesNotWrite) {
  Bench bench;
  bench.post(IBV_WR_RDMA_READ, 4);
  bench.sent();
  bench.receive(Operation::kReadResponseOnly, 100, {}, {1, 1, 1, 1});
  bench.receive(Operation::kReadResponseOnly, 100, {}, {2, 2, 2, 2});
  EXPECT_EQ(bench.memory[0], 1);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

TEST(Completer, ReadScatters) {
  Bench bench;
  sim::SendRequest request;
  request.opcode = IBV_WR_RDMA_READ;
  request.sges = {bench.local(1, 10), bench.local(0, 0), bench.local(1025, 2000)};
  bench.post(request);
  bench.sent();
  std::vector<uint8_t> first(kMtu, 7);
  first[0] = 5;
  bench.receive(Operation::kReadResponseFirst, 100, {}, first);
  bench.receive(Operation::kReadResponseLast, 101, {}, {8, 9});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.memory[10], 5);
  EXPECT_EQ(bench.memory[11], 11);
  EXPECT_EQ(bench.memory[2000], 7);
  EXPECT_EQ(bench.memory[2000 + 1023], 8);
  EXPECT_EQ(bench.memory[2000 + 1024], 9);
  EXPECT_EQ(bench.memory[2000 + 1025], static_cast<uint8_t>(2000 + 1025));
}

// 9.9.2.1. Expect: each NAK's status for the request it names, success before, flush after, in
// order, on both queues, and the Error state.
TEST(Completer, NaksEndTheConnection) {
  const std::pair<NakCode, ibv_wc_status> cases[] = {
      {NakCode::kInvalidRequest, IBV_WC_REM_INV_REQ_ERR},
      {NakCode::kRemoteAccessError, IBV_WC_REM_ACCESS_ERR},
      {NakCode::kRemoteOperationalError, IBV_WC_REM_OP_ERR},
  };
  for (const auto& [code, status] : cases) {
    BenchOptions options;
    options.sq_sig_all = false;
    Bench bench(options);
    bench.post(IBV_WR_SEND, 0, IBV_SEND_SIGNALED);
    bench.post(IBV_WR_SEND, 0);
    bench.post(IBV_WR_SEND, 0);
    bench.post(IBV_WR_SEND, 0, IBV_SEND_SIGNALED);
    bench.post_receive();
    bench.post_receive();
    bench.sent();
    bench.receive_nak(101, code);
    // An unsignaled request that fails has a completion all the same.
    EXPECT_EQ(
        bench.send_statuses(),
        (Statuses{
            {1, IBV_WC_SUCCESS}, {2, status}, {3, IBV_WC_WR_FLUSH_ERR}, {4, IBV_WC_WR_FLUSH_ERR}}));
    EXPECT_EQ(bench.receive_statuses(),
              (Statuses{{1, IBV_WC_WR_FLUSH_ERR}, {2, IBV_WC_WR_FLUSH_ERR}}));
    EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
    EXPECT_EQ(bench.sent(), Lines{});
    EXPECT_FALSE(bench.device.next_deadline());
  }
}

// Expect: what is posted in the Error state is flushed.
TEST(Completer, PostsInErrorAreFlushed) {
  Bench bench;
  EXPECT_EQ(bench.move_to(IBV_QPS_ERR), 0);
  bench.post(IBV_WR_SEND, 0);
  bench.post_receive();
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.receive_statuses(), (Statuses{{1, IBV_WC_WR_FLUSH_ERR}}));
}

// 9.7.5.2 Expect: a response of the wrong length or kind is a bad response.
TEST(Completer, BadResponses) {
  const struct {
    ibv_wr_opcode request;
    Operation answer;
    size_t bytes;
  } cases[] = {
      {IBV_WR_RDMA_READ, Operation::kReadResponseOnly, 7},
      {IBV_WR_RDMA_READ, Operation::kReadResponseOnly, 9},
      {IBV_WR_RDMA_READ, Operation::kReadResponseOnly, 0},
      {IBV_WR_RDMA_READ, Operation::kAtomicAcknowledge, 0},
      {IBV_WR_ATOMIC_FETCH_AND_ADD, Operation::kReadResponseOnly, 8},
      {IBV_WR_SEND, Operation::kReadResponseOnly, 8},
      {IBV_WR_SEND, Operation::kAtomicAcknowledge, 0},
  };
  for (const auto& c : cases) {
    Bench bench;
    bench.post(c.request, 8);
    bench.sent();
    bench.receive(c.answer, 100, {}, std::vector<uint8_t>(c.bytes));
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_BAD_RESP_ERR}}))
        << c.request << " " << static_cast<int>(c.answer) << " " << c.bytes;
    EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
    EXPECT_EQ(bench.dropped(DropReason::kMalformedResponse), 1U);
  }
}

// The memory of an element goes away before it is sent again, and then a late ACK of its first
// transmission comes. Expect: success, and the queue goes on behind it.
TEST(Completer, LateAckOfAnElementThatCannotBeSentAgain) {
  Bench bench;
  std::vector<uint8_t> gone(16);
  MemoryRegion* const region =
      bench.device.register_memory(bench.pd, gone.data(), gone.size(), 0, 0).value();
  bench.post(IBV_WR_SEND, 0);
  sim::SendRequest request;
  request.sges = {{0, 16, region->lkey}};
  bench.post(request);
  bench.sent();
  bench.receive_nak(100, NakCode::kPsnSequenceError);
  ASSERT_TRUE(bench.device.deregister_memory(region));
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 ack len 0"}));
  bench.receive_ack(101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), (Lines{"GAP Query psn 1", "SEND Only psn 102 ack len 0"}));
}

// Expect: an ACK with a reserved syndrome or NAK code is a bad response, whatever its low bits are.
TEST(Completer, ReservedSyndromes) {
  for (const uint8_t syndrome : std::initializer_list<uint8_t>{0x40, 0x41, 0x42, 0x5f, 0x65, 0x7f,
                                                               0x80, 0x82, 0xa0, 0xe2, 0xff}) {
    Bench bench;
    bench.post(IBV_WR_SEND, 0);
    bench.sent();
    bench.receive_ack(100, syndrome);
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_BAD_RESP_ERR}})) << int{syndrome};
  }
}

// 10.10.2.3. Expect: overflow of the completion queue: CQ_ERR once, QP_FATAL, the Error state.
TEST(Completer, CompletionQueueOverflow) {
  BenchOptions options;
  options.cq_entries = 1;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(101);
  EXPECT_EQ(bench.events(), (std::vector{IBV_EVENT_CQ_ERR, IBV_EVENT_QP_FATAL}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
  EXPECT_GE(bench.device.counters().cq_overflows, 1U);
}

// 11.4.2.2. Expect: one notification for an armed queue; solicited_only waits for a solicited or a
// failed one.
TEST(Completer, Notification) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  EXPECT_EQ(bench.device.take_notified(), nullptr);
  bench.send_cq->arm(false);
  bench.receive_ack(101);
  EXPECT_EQ(bench.device.take_notified(), bench.send_cq);
  EXPECT_EQ(bench.device.take_notified(), nullptr);
  bench.send_cq->arm(true);
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(102);
  EXPECT_EQ(bench.device.take_notified(), nullptr);
  bench.receive_nak(103, NakCode::kRemoteAccessError);
  EXPECT_EQ(bench.device.take_notified(), bench.send_cq);
}

}  // namespace
}  // namespace urxe::test::completer_test
