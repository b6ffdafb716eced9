// SPDX-License-Identifier: BSD-2-Clause
// What the requester puts on the wire (IBTA vol. 1, 9.4, 9.7.2, 9.7.3), and what limits it.
#include <gtest/gtest.h>

#include <utility>

#include "tests/transport/bench.h"

namespace urxe::test {
namespace {

constexpr const char* kReth = " va 0x5000 rkey 0x77 dma %u";

std::string with_reth(const char* before, uint32_t length, const char* after) {
  return before + line(kReth, length) + after;
}

// 9.4.1. Expect: one Only packet up to one path MTU, then First, Middle, Last; AckReq on the end.
TEST(Requester, SendsByLength) {
  const std::pair<uint32_t, Lines> cases[] = {
      {0, {"SEND Only psn 100 ack len 0"}},
      {1, {"SEND Only psn 100 ack len 1"}},
      {kMtu, {"SEND Only psn 100 ack len 1024"}},
      {kMtu + 1, {"SEND First psn 100 len 1024", "SEND Last psn 101 ack len 1"}},
      {3 * kMtu,
       {"SEND First psn 100 len 1024", "SEND Middle psn 101 len 1024",
        "SEND Last psn 102 ack len 1024"}},
  };
  for (const auto& [length, expected] : cases) {
    Bench bench;
    bench.post(IBV_WR_SEND, length);
    EXPECT_EQ(bench.sent(), expected) << length;
    std::vector<uint8_t> data;
    for (const auto& part : bench.payloads()) data.insert(data.end(), part.begin(), part.end());
    EXPECT_EQ(data, counting(length));
  }
}

// 9.4.1. Expect: immediate data in the last packet only.
TEST(Requester, SendsWithImmediate) {
  Bench bench;
  bench.post(IBV_WR_SEND_WITH_IMM, 0);
  bench.post(IBV_WR_SEND_WITH_IMM, kMtu + 1);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only Immediate psn 100 ack imm 0x1020304 len 0",
                                 "SEND First psn 101 len 1024",
                                 "SEND Last Immediate psn 102 ack imm 0x1020304 len 1"}));
}

// 9.4.1 Expect: the key to invalidate in the last packet only.
TEST(Requester, SendsWithInvalidate) {
  Bench bench;
  sim::SendRequest request;
  request.opcode = IBV_WR_SEND_WITH_INV;
  request.invalidate = RKey{0xabc};
  request.sges = {bench.local(kMtu + 4)};
  bench.post(request);
  EXPECT_EQ(bench.sent(), (Lines{"SEND First psn 100 len 1024",
                                 "SEND Last Invalidate psn 101 ack invalidate 0xabc len 4"}));
}

// 9.4.3. Expect: the RETH with the whole length in the first packet only.
TEST(Requester, WritesByLength) {
  const std::pair<uint32_t, Lines> cases[] = {
      {0, {with_reth("WRITE Only psn 100 ack", 0, " len 0")}},
      {1, {with_reth("WRITE Only psn 100 ack", 1, " len 1")}},
      {kMtu, {with_reth("WRITE Only psn 100 ack", kMtu, " len 1024")}},
      {kMtu + 1,
       {with_reth("WRITE First psn 100", kMtu + 1, " len 1024"), "WRITE Last psn 101 ack len 1"}},
      {3 * kMtu,
       {with_reth("WRITE First psn 100", 3 * kMtu, " len 1024"), "WRITE Middle psn 101 len 1024",
        "WRITE Last psn 102 ack len 1024"}},
  };
  for (const auto& [length, expected] : cases) {
    Bench bench;
    bench.post(IBV_WR_RDMA_WRITE, length);
    EXPECT_EQ(bench.sent(), expected) << length;
  }
}

TEST(Requester, WritesWithImmediate) {
  Bench bench;
  bench.post(IBV_WR_RDMA_WRITE_WITH_IMM, 4);
  bench.post(IBV_WR_RDMA_WRITE_WITH_IMM, kMtu + 1);
  EXPECT_EQ(bench.sent(),
            (Lines{with_reth("WRITE Only Immediate psn 100 ack", 4, " imm 0x1020304 len 4"),
                   with_reth("WRITE First psn 101", kMtu + 1, " len 1024"),
                   "WRITE Last Immediate psn 102 ack imm 0x1020304 len 1"}));
}

// 9.4.4, 9.7.3 Expect: one request; the next message begins after the PSNs of its responses.
TEST(Requester, ReadTakesAPsnForEachResponse) {
  for (const uint32_t length : {0U, 1U, kMtu, kMtu + 1, 3 * kMtu}) {
    Bench bench;
    bench.post(IBV_WR_RDMA_READ, length);
    bench.post(IBV_WR_SEND, 1);
    const uint32_t psns = length == 0 ? 1 : (length + kMtu - 1) / kMtu;
    EXPECT_EQ(bench.sent(), (Lines{with_reth("READ Request psn 100 ack", length, ""),
                                   line("SEND Only psn %u ack len 1", 100 + psns)}));
  }
}

// 9.4.5.
TEST(Requester, Atomics) {
  Bench bench;
  bench.post(IBV_WR_ATOMIC_CMP_AND_SWP, 8);
  bench.post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
  EXPECT_EQ(bench.sent(),
            (Lines{"COMPARE SWAP psn 100 ack va 0x5000 rkey 0x77 swap_or_add 0x6 compare 0x5",
                   "FETCH ADD psn 101 ack va 0x5000 rkey 0x77 swap_or_add 0x5 compare 0x0"}));
}

// 9.4.1 Expect: solicited on the last packet of what takes a receive, never on others.
TEST(Requester, SolicitedOnlyOnTheEnd) {
  Bench bench;
  bench.post(IBV_WR_SEND, kMtu + 1, IBV_SEND_SOLICITED);
  bench.post(IBV_WR_RDMA_WRITE, 1, IBV_SEND_SOLICITED);
  EXPECT_EQ(bench.sent(),
            (Lines{"SEND First psn 100 len 1024", "SEND Last psn 101 solicited ack len 1",
                   with_reth("WRITE Only psn 102 ack", 1, " len 1")}));
}

// 9.7.2. Expect: the PSN after 0xffffff is 0.
TEST(Requester, PsnWraps) {
  BenchOptions options;
  options.connect.sq_psn = 0xffffff;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 2 * kMtu);
  EXPECT_EQ(bench.sent(),
            (Lines{"SEND First psn 16777215 len 1024", "SEND Last psn 0 ack len 1024"}));
  bench.receive_ack(0);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

TEST(Requester, GathersInTheOrderOfTheList) {
  Bench bench;
  sim::SendRequest request;
  request.sges = {bench.local(3, 100), bench.local(0, 5), bench.local(1024, 0), bench.local(1, 7)};
  bench.post(request);
  EXPECT_EQ(bench.sent(), (Lines{"SEND First psn 100 len 1024", "SEND Last psn 101 ack len 4"}));
  EXPECT_EQ(bench.payloads()[0][0], 100);
  EXPECT_EQ(bench.payloads()[0][3], 0);
  EXPECT_EQ(bench.payloads()[1], (std::vector<uint8_t>{253, 254, 255, 7}));
}

// Expect: inline data is what it was when posted, and needs no key.
TEST(Requester, InlineDataIsTakenAtPosting) {
  Bench bench;
  sim::SendRequest request;
  request.flags = IBV_SEND_INLINE;
  request.inline_data = {1, 2, 3};
  bench.post(request);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 ack len 3"}));
  EXPECT_EQ(bench.payloads()[0], (std::vector<uint8_t>{1, 2, 3}));
}

// 10.8 Expect: a fenced request waits for READs and atomics before it, not for WRITEs.
TEST(Requester, FenceWaitsForReads) {
  Bench bench;
  bench.post(IBV_WR_RDMA_WRITE, 1);
  bench.post(IBV_WR_RDMA_READ, 1);
  bench.post(IBV_WR_SEND, 1, IBV_SEND_FENCE);
  EXPECT_EQ(bench.sent(), (Lines{with_reth("WRITE Only psn 100 ack", 1, " len 1"),
                                 with_reth("READ Request psn 101 ack", 1, "")}));
  bench.receive_ack(100);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.receive(Operation::kReadResponseOnly, 101, {}, {9});
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 102 ack len 1"}));
}

TEST(Requester, FenceAfterWritesDoesNotWait) {
  Bench bench;
  bench.post(IBV_WR_RDMA_WRITE, 1);
  bench.post(IBV_WR_SEND, 1, IBV_SEND_FENCE);
  EXPECT_EQ(bench.sent(), (Lines{with_reth("WRITE Only psn 100 ack", 1, " len 1"),
                                 "SEND Only psn 101 ack len 1"}));
}

// 9.7.3 Expect: never more than max_rd_atomic READs and atomics unanswered.
TEST(Requester, MaxRdAtomicLimits) {
  BenchOptions options;
  options.connect.max_rd_atomic = 2;
  Bench bench(options);
  bench.post(IBV_WR_RDMA_READ, 8);
  bench.post(IBV_WR_ATOMIC_FETCH_AND_ADD, 8);
  bench.post(IBV_WR_RDMA_READ, 8);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 2U);
  bench.receive(Operation::kReadResponseOnly, 100, {}, std::vector<uint8_t>(8));
  EXPECT_EQ(bench.sent(),
            (Lines{with_reth("READ Request psn 102 ack", 8, ""), "SEND Only psn 103 ack len 0"}));
}

TEST(Requester, MaxRdAtomicZeroRefusesReads) {
  BenchOptions options;
  options.connect.max_rd_atomic = 0;
  Bench bench(options);
  bench.post(IBV_WR_RDMA_READ, 8);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_QP_OP_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

// 9.7.7.2.5 (end-to-end flow control). Expect: no more SENDs than the responder has receives for,
// but for one that asks; WRITEs are not limited.
TEST(Requester, CreditsAreRespected) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.receive_ack(100, 1, 1);  // one more receive there
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 101 ack len 0"}));
  bench.receive_ack(101, 2, 2);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 102 ack len 0", "SEND Only psn 103 ack len 0"}));
}

// fio asks for no RNR retries and floods its receiver. Expect: without credits nothing goes out
// until an ACK announces some, or after a while.
TEST(Requester, WaitsForCreditsWithoutRnrRetries) {
  BenchOptions options;
  options.connect.rnr_retry = 0;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.receive_ack(100, 0, 1);
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.pass(milliseconds(999));
  EXPECT_EQ(bench.sent(), Lines{});
  bench.receive_ack(100, 1, 1);  // unsolicited
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 101 ack len 0"}));
  bench.receive_ack(101, 0, 2);
  EXPECT_EQ(bench.sent(), Lines{});
  bench.pass(milliseconds(1000));
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 102 ack len 0"}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
}

// Expect: WRITEs need no credits.
TEST(Requester, WritesDoNotWaitForCredits) {
  BenchOptions options;
  options.connect.rnr_retry = 0;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  bench.sent();
  bench.receive_ack(100, 0, 1);
  bench.post(IBV_WR_RDMA_WRITE, 0);
  EXPECT_EQ(bench.sent().size(), 1U);
}

// Expect: an unsignaled request has no completion; the next signaled one speaks for it.
TEST(Requester, UnsignaledHasNoCompletion) {
  BenchOptions options;
  options.sq_sig_all = false;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  bench.post(IBV_WR_SEND, 0, IBV_SEND_SIGNALED);
  EXPECT_EQ(bench.sent().size(), 2U);
  bench.receive_ack(100);
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  bench.receive_ack(101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{2, IBV_WC_SUCCESS}}));
}

// 10.3.1.5. Expect: SQD finishes what was begun, begins nothing, and tells when it is drained.
TEST(Requester, SqdDrains) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 1U);
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_SQD;
  attr.en_sqd_async_notify = 1;
  ASSERT_TRUE(bench.device.modify_qp(*bench.qp, attr, IBV_QP_STATE | IBV_QP_EN_SQD_ASYNC_NOTIFY,
                                     bench.now));
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
  bench.receive_ack(100);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.events(), (std::vector{IBV_EVENT_SQ_DRAINED}));
  EXPECT_EQ(bench.move_to(IBV_QPS_RTS), 0);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 101 ack len 0"}));
  EXPECT_EQ(bench.events(), std::vector<ibv_event_type>{});
}

// 10.3.1.5. Expect: in SQD a lost packet is still sent again.
TEST(Requester, SqdStillRetries) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 1U);
  EXPECT_EQ(bench.move_to(IBV_QPS_SQD), 0);
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 ack len 0"}));
}

// Expect: nothing is sent before RTS.
TEST(Requester, NothingBeforeRts) {
  BenchOptions options;
  options.state = IBV_QPS_RTR;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_TRUE(
      bench.device.modify_qp(*bench.qp, sim::rts_attributes(options.connect), sim::kRtsMask, {}));
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 ack len 0"}));
}

/// Which packets of a long WRITE that go out at once have AckReq, after so many bytes were
/// acknowledged on the path.
std::vector<size_t> packets_with_ack_req(uint32_t acknowledged, size_t& sent) {
  Bench bench;
  bench.qp->path->on_acknowledged(acknowledged);
  sim::SendRequest request;
  request.opcode = IBV_WR_RDMA_WRITE;
  request.sges.assign(8, bench.local(48 * kMtu));
  bench.post(request);
  const Lines lines = bench.sent();
  std::vector<size_t> asking;
  for (size_t i = 0; i < lines.size(); ++i) {
    if (lines[i].find(" ack ") != std::string::npos) asking.push_back(i);
  }
  sent = lines.size();
  return asking;
}

// Expect: in the first window (128 KiB) the end of each turn of the queue pair asks for an ACK.
TEST(Requester, AsksForAcksByTheTurn) {
  size_t sent = 0;
  const std::vector<size_t> asking = packets_with_ack_req(0, sent);
  EXPECT_LT(sent, 8 * 48U);
  ASSERT_GE(asking.size(), sent / 16);
  EXPECT_LT(asking.front(), 16U);
  EXPECT_EQ(asking.back(), sent - 1);
}

// Expect: in a wide one (1 MiB) only each 64th packet does, and the last one for which there is
// room.
TEST(Requester, AsksForFewerAcksInAWideWindow) {
  size_t sent = 0;
  const std::vector<size_t> asking = packets_with_ack_req(1 << 20, sent);
  EXPECT_LT(sent, 8 * 48U);
  ASSERT_GE(asking.size(), 2U);
  EXPECT_EQ(asking[0], 63U);
  EXPECT_EQ(asking[1], 127U);
  EXPECT_EQ(asking.back(), sent - 1);
}

// 9.9.2 (local errors). Expect: a bad local key fails the request when its turn comes, those
// before it succeed, those after it are flushed.
TEST(Requester, LocalProtectionError) {
  Bench bench;
  bench.post(IBV_WR_SEND, 0);
  sim::SendRequest bad;
  bad.sges = {bench.local(4)};
  bad.sges[0].lkey = LKey{0xbad};
  bench.post(bad);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), (Lines{"SEND Only psn 100 ack len 0"}));
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  bench.receive_ack(100);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(),
            (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_LOC_PROT_ERR}, {3, IBV_WC_WR_FLUSH_ERR}}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

TEST(Requester, ResultsIntoReadOnlyMemoryAreRefused) {
  for (const ibv_wr_opcode opcode :
       {IBV_WR_RDMA_READ, IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    Bench bench;
    const auto start = reinterpret_cast<uint64_t>(bench.memory.data());
    const MemoryRegion& read_only =
        **bench.device.register_memory(bench.pd, bench.memory.data(), 64, start, 0);
    sim::SendRequest request;
    request.opcode = opcode;
    request.sges = {bench.local(8)};
    request.sges[0].lkey = read_only.lkey;
    bench.post(request);
    EXPECT_EQ(bench.sent(), Lines{});
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_PROT_ERR}})) << opcode;
  }
}

TEST(Requester, AtomicsNeedRoomForTheirResult) {
  for (const ibv_wr_opcode opcode : {IBV_WR_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_FETCH_AND_ADD}) {
    Bench bench;
    bench.post(opcode, 7);
    EXPECT_EQ(bench.sent(), Lines{});
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_LEN_ERR}})) << opcode;
  }
}

}  // namespace
}  // namespace urxe::test
