// SPDX-License-Identifier: BSD-2-Clause
// BIND_MW and LOCAL_INV on the send queue: no packet, executed in their turn, once, and completed
// in order (IBTA vol. 1, 10.6.7.2, 10.6.5, 10.8.3.3).
#include <gtest/gtest.h>

#include "tests/transport/memory/window_bench.h"

namespace urxe::test::local_operation_test {
namespace {

constexpr uint64_t kVa = WindowBench::kWindowVa;

std::string write_line(uint32_t psn, uint32_t length = 0) {
  return line("WRITE Only psn %u ack va 0x5000 rkey 0x77 dma %u len %u", psn, length, length);
}

TEST(LocalOperation, InvalidateTakesTheKeyAway) {
  WindowBench bench;
  const BindRequest request = bench.whole();
  bench.bind(request);
  EXPECT_TRUE(bench.read(request.new_key, kVa));
  bench.post_invalidate(request.new_key);
  EXPECT_EQ(bench.sent(), Lines{});
  const std::vector<ibv_wc> wcs = bench.poll(*bench.send_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].status, IBV_WC_SUCCESS);
  EXPECT_EQ(wcs[0].opcode, IBV_WC_LOCAL_INV);
  EXPECT_EQ(bench.region->windows, 0U);
  EXPECT_FALSE(bench.read(request.new_key, kVa));
}

// Expect: bound, invalidated, bound again under another key.
TEST(LocalOperation, BindAfterInvalidate) {
  WindowBench bench;
  const BindRequest first = bench.whole();
  bench.post_bind(first);
  bench.post_invalidate(first.new_key);
  BindRequest second = first;
  second.new_key = next_key(first.new_key);
  bench.post_bind(second);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(),
            (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}, {3, IBV_WC_SUCCESS}}));
  EXPECT_TRUE(bench.read(second.new_key, kVa));
  EXPECT_FALSE(bench.read(first.new_key, kVa));
}

void expect_invalidate_fails(WindowBench& bench, RKey key, const char* what) {
  bench.post_invalidate(key);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent(), Lines{}) << what;
  const std::vector<ibv_wc> wcs = bench.poll(*bench.send_cq);
  ASSERT_EQ(wcs.size(), 2U) << what;
  EXPECT_EQ(wcs[0].status, IBV_WC_MW_BIND_ERR) << what;
  EXPECT_EQ(wcs[0].opcode, IBV_WC_LOCAL_INV) << what;
  EXPECT_EQ(wcs[1].status, IBV_WC_WR_FLUSH_ERR) << what;
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR) << what;
}

TEST(LocalOperation, InvalidateOfWhatMayNotBe) {
  {
    WindowBench bench;
    expect_invalidate_fails(bench, bench.window->rkey, "not bound");
  }
  {
    WindowBench bench;
    expect_invalidate_fails(bench, bench.target_region->rkey, "a region");
  }
  {
    WindowBench bench;
    MemoryWindow* window = bench.device.alloc_window(bench.pd, IBV_MW_TYPE_1).value();
    bench.bind(bench.ask(*window));
    expect_invalidate_fails(bench, window->rkey, "type 1");
  }
  {
    WindowBench bench;
    bench.bind(bench.whole());
    expect_invalidate_fails(bench, next_key(bench.window->rkey), "another key of the index");
    EXPECT_EQ(bench.region->windows, 1U);
  }
}

// Expect: it runs when its turn comes to be sent, and completes when all before it have.
TEST(LocalOperation, CompletesBehindWhatIsNotAcknowledged) {
  WindowBench bench;
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.post_bind(bench.whole());
  bench.post(IBV_WR_RDMA_WRITE, 0);
  EXPECT_EQ(bench.sent(), (Lines{write_line(100), write_line(101)}));
  EXPECT_EQ(bench.region->windows, 1U);
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  bench.receive_ack(100);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  bench.receive_ack(101);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{3, IBV_WC_SUCCESS}}));
}

TEST(LocalOperation, OneAckCompletesAllInOrder) {
  WindowBench bench;
  const BindRequest request = bench.whole();
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.post_bind(request);
  bench.post_invalidate(request.new_key);
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.post_bind(request);
  EXPECT_EQ(bench.sent().size(), 2U);
  bench.receive_ack(101);
  Statuses expected;
  for (uint64_t id = 1; id <= 5; ++id) expected.emplace_back(id, IBV_WC_SUCCESS);
  EXPECT_EQ(bench.send_statuses(), expected);
}

// The first WRITE is lost. A second bind of the window would fail, so that running it twice shows.
TEST(LocalOperation, GoBackDoesNotRepeatIt) {
  WindowBench bench;
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.post_bind(bench.whole());
  bench.post(IBV_WR_RDMA_WRITE, 0);
  EXPECT_EQ(bench.sent(), (Lines{write_line(100), write_line(101)}));
  bench.receive_nak(100, NakCode::kPsnSequenceError);
  EXPECT_EQ(bench.sent(), (Lines{write_line(100), write_line(101)}));
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  bench.receive_ack(101);
  EXPECT_EQ(bench.send_statuses(),
            (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}, {3, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.region->windows, 1U);
  EXPECT_EQ(bench.sent(), Lines{});
}

// The ACK of everything comes after going back, before anything is sent again.
TEST(LocalOperation, LateAckAfterGoBack) {
  WindowBench bench;
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.post_bind(bench.whole());
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.post_bind({});
  EXPECT_EQ(bench.sent().size(), 2U);
  bench.receive_nak(100, NakCode::kPsnSequenceError);
  bench.receive_ack(101);
  EXPECT_EQ(bench.sent(), (Lines{"GAP Query psn 1"}));
  EXPECT_EQ(
      bench.send_statuses(),
      (Statuses{
          {1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}, {3, IBV_WC_SUCCESS}, {4, IBV_WC_MW_BIND_ERR}}));
}

// Expect: after a timeout the newest packet asks; then all that is missing, past the local
// operation that has run already.
TEST(LocalOperation, TimeoutGoesPastIt) {
  WindowBench bench;
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.post_bind(bench.whole());
  bench.post(IBV_WR_RDMA_WRITE, 0);
  EXPECT_EQ(bench.sent().size(), 2U);
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), (Lines{write_line(101)}));
  bench.receive_nak(100, NakCode::kPsnSequenceError);
  EXPECT_EQ(bench.sent(), (Lines{write_line(100), write_line(101)}));
  bench.receive_ack(100);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
}

// Expect: a refused bind behind a lost WRITE fails only when that has been sent again and answered.
TEST(LocalOperation, FailureWaitsForTheRetransmission) {
  WindowBench bench;
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.post_bind({});
  EXPECT_EQ(bench.sent(), (Lines{write_line(100)}));
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), (Lines{write_line(100)}));
  EXPECT_EQ(bench.qp->state(), IBV_QPS_RTS);
  bench.receive_ack(100);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_MW_BIND_ERR}}));
}

TEST(LocalOperation, UnsignaledIsSilent) {
  BenchOptions options;
  options.sq_sig_all = false;
  WindowBench bench(options);
  const BindRequest request = bench.whole();
  bench.post_bind(request);
  bench.post_invalidate(request.new_key);
  bench.post_bind(request, IBV_SEND_SIGNALED);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{3, IBV_WC_SUCCESS}}));
  EXPECT_TRUE(bench.qp->sq.empty());
}

// An unsignaled one that fails is told of all the same.
TEST(LocalOperation, UnsignaledFailureCompletes) {
  BenchOptions options;
  options.sq_sig_all = false;
  WindowBench bench(options);
  bench.post_bind({});
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_MW_BIND_ERR}}));
}

// 10.8.3.3. Expect: with a fence the bind waits for the READ before it, without one it does not.
TEST(LocalOperation, FenceWaitsForReads) {
  for (const bool fenced : {false, true}) {
    WindowBench bench;
    bench.post(IBV_WR_RDMA_READ, 8);
    bench.post_bind(bench.whole(), fenced ? unsigned{IBV_SEND_FENCE} : 0);
    EXPECT_EQ(bench.sent().size(), 1U);
    EXPECT_EQ(bench.region->windows, fenced ? 0U : 1U);
    bench.receive(Operation::kReadResponseOnly, 100, {}, counting(8));
    EXPECT_EQ(bench.sent(), Lines{});
    EXPECT_EQ(bench.region->windows, 1U);
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}, {2, IBV_WC_SUCCESS}}));
  }
}

// Expect: more of them than a turn takes, and nothing else, still all done in one drive.
TEST(LocalOperation, AQueueFullOfThem) {
  WindowBench bench;
  BindRequest request = bench.whole();
  Statuses expected;
  for (uint64_t id = 1; id < 64; id += 2) {
    bench.post_bind(request);
    bench.post_invalidate(request.new_key);
    request.new_key = next_key(request.new_key);
    expected.insert(expected.end(), {{id, IBV_WC_SUCCESS}, {id + 1, IBV_WC_SUCCESS}});
  }
  EXPECT_TRUE(bench.qp->sq.full());
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), expected);
}

// Expect: what has not run when the queue pair enters ERR is flushed without effect, and the window
// may be bound later although the application has moved its key on.
TEST(LocalOperation, FlushedInError) {
  WindowBench bench;
  BindRequest request = bench.whole();
  bench.post(IBV_WR_RDMA_READ, 8);
  bench.post_bind(request, IBV_SEND_FENCE);
  bench.post_invalidate(request.new_key);
  EXPECT_EQ(bench.sent().size(), 1U);
  EXPECT_EQ(bench.move_to(IBV_QPS_ERR), 0);
  bench.post_bind(request);
  EXPECT_EQ(bench.sent(), Lines{});
  const std::vector<ibv_wc> wcs = bench.poll(*bench.send_cq);
  ASSERT_EQ(wcs.size(), 4U);
  for (const ibv_wc& wc : wcs) EXPECT_EQ(wc.status, IBV_WC_WR_FLUSH_ERR);
  EXPECT_EQ(wcs[2].opcode, IBV_WC_LOCAL_INV);
  EXPECT_EQ(wcs[3].opcode, IBV_WC_BIND_MW);
  EXPECT_EQ(bench.region->windows, 0U);

  QueuePair& other = bench.other_qp();
  sim::SendRequest again;
  again.opcode = IBV_WR_BIND_MW;
  again.bind = request;
  again.bind.window = request.new_key;
  again.bind.new_key = next_key(request.new_key);
  ASSERT_TRUE(sim::post_send(bench.device, other, again));
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{0, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.window->rkey, again.bind.new_key);
}

// Expect: SQD begins no local operation; RTS goes on with it.
TEST(LocalOperation, NotBegunInSqd) {
  WindowBench bench;
  EXPECT_EQ(bench.move_to(IBV_QPS_SQD), 0);
  bench.post_bind(bench.whole());
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  EXPECT_EQ(bench.region->windows, 0U);
  EXPECT_EQ(bench.move_to(IBV_QPS_RTS), 0);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_SUCCESS}}));
}

}  // namespace
}  // namespace urxe::test::local_operation_test
