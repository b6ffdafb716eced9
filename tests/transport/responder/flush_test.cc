// SPDX-License-Identifier: BSD-2-Clause
// FLUSH (annex A19): what the peer has written before is visible, or persistent, when the READ
// response without data comes.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/transport/memory/window_bench.h"
#include "tests/transport/responder/empty_response_bench.h"
#include "transport/later_verbs.h"

namespace urxe::test::flush_test {
namespace {

constexpr uint64_t kVa = Bench::kTargetVa;
constexpr uint8_t kBoth = Feth::kGlobal | Feth::kPersistent;
const std::string kInvalidRequest = "nak \"invalid request\"";
const std::string kRemoteAccess = "nak \"remote access error\"";

struct FlushBench : EmptyResponseBench {
  explicit FlushBench(const BenchOptions& options = {}) : EmptyResponseBench(options) {
    qp->attr.qp_access_flags |= kAccessFlushGlobal | kAccessFlushPersistent;
    target_region->access |= kAccessFlushGlobal;
  }

  void receive_flush(uint32_t psn, Feth feth = {Feth::kGlobal, Feth::kRange}, uint64_t va = kVa,
                     uint32_t length = 64) {
    receive_flush_of(target_region->rkey, psn, feth, va, length);
  }
  void receive_flush_of(RKey rkey, uint32_t psn, Feth feth, uint64_t va = kVa,
                        uint32_t length = 64) {
    Headers headers = reth(va, rkey, length);
    headers.feth = feth;
    receive(Operation::kFlush, psn, headers);
  }
  void post_flush(uint32_t length = 64, unsigned flags = 0) {
    sim::SendRequest request;
    request.opcode = kWrFlush;
    request.flags = flags;
    request.remote_addr = kRemoteVa;
    request.rkey = RKey{0x77};
    request.flush = {Feth::kGlobal, Feth::kRange};
    request.flush_length = length;
    post(request);
  }
};

void expect_refused(FlushBench& bench, const std::string& nak) {
  const Lines sent = bench.sent();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_NE(sent[0].find(nak), std::string::npos) << sent[0];
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR);
}

TEST(Flush, IsAnsweredWithoutData) {
  FlushBench bench;
  bench.receive_flush(kRqPsn);
  expect_empty_response(bench, "a range");
  EXPECT_EQ(bench.device.counters().flush_requests, 1U);
}

// Expect: the response of a FLUSH acknowledges the WRITE before it, whose data is there.
TEST(Flush, FollowsTheWritesBeforeIt) {
  FlushBench bench;
  bench.receive(Operation::kWriteOnly, kRqPsn, bench.reth(kVa, bench.target_region->rkey, 2),
                {7, 8});
  bench.receive_flush(kRqPsn + 1);
  const Lines sent = bench.sent();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_NE(sent[0].find("READ Response Only psn 201 credits 0 msn 2"), std::string::npos)
      << sent[0];
  EXPECT_EQ(bench.target[0], 7);
  EXPECT_EQ(bench.target[1], 8);
}

// Expect: a FLUSH whose WRITE is missing is not answered before the WRITE has come.
TEST(Flush, WaitsForAWriteThatIsMissing) {
  BenchOptions options;
  options.keeps_requests = true;
  FlushBench bench(options);
  bench.receive_flush(kRqPsn + 1);
  const Lines gap = bench.sent();
  ASSERT_EQ(gap.size(), 1U);
  EXPECT_NE(gap[0].find("psn sequence error"), std::string::npos) << gap[0];
  bench.receive(Operation::kWriteOnly, kRqPsn, bench.reth(kVa, bench.target_region->rkey, 1), {7});
  const Lines sent = bench.sent();
  ASSERT_FALSE(sent.empty());
  EXPECT_NE(sent.back().find("READ Response Only psn 201"), std::string::npos) << sent.back();
}

TEST(Flush, OfARangeChecksItsBounds) {
  {
    FlushBench bench;
    bench.receive_flush(kRqPsn, {Feth::kGlobal, Feth::kRange}, kVa, 8192);
    expect_empty_response(bench, "all of the region");
  }
  {
    FlushBench bench;
    bench.receive_flush(kRqPsn, {Feth::kGlobal, Feth::kRange}, kVa, 8193);
    expect_refused(bench, kRemoteAccess);
  }
  {
    FlushBench bench;
    bench.receive_flush(kRqPsn, {Feth::kGlobal, Feth::kRange}, kVa, 0x80000001);
    expect_refused(bench, kInvalidRequest);
  }
}

TEST(Flush, OfTheRegionIgnoresAddressAndLength) {
  FlushBench bench;
  bench.receive_flush(kRqPsn, {Feth::kGlobal, Feth::kRegion}, 0, 0xffffffff);
  expect_empty_response(bench, "the region");
}

TEST(Flush, ChecksTheKey) {
  for (const uint8_t selectivity : {Feth::kRange, Feth::kRegion}) {
    FlushBench bench;
    bench.receive_flush_of(RKey{1}, kRqPsn, {Feth::kGlobal, selectivity});
    expect_refused(bench, kRemoteAccess);
    EXPECT_EQ(bench.qp->error_cause.check, Check::kUnknownKey);
  }
}

TEST(Flush, NeedsARightOfTheRegion) {
  for (const uint8_t placement : {Feth::kPersistent, kBoth}) {
    FlushBench bench;
    bench.receive_flush(kRqPsn, {placement, Feth::kRegion});
    expect_refused(bench, kRemoteAccess);
    EXPECT_EQ(bench.qp->error_cause.check, Check::kRights);
  }
  FlushBench bench;
  bench.target_region->access &= ~kAccessFlushGlobal;
  bench.receive_flush(kRqPsn);
  expect_refused(bench, kRemoteAccess);
}

// Expect: as for a READ that the queue pair's access flags do not allow.
TEST(Flush, NeedsARightOfTheQueuePair) {
  FlushBench bench;
  bench.target_region->access |= kAccessFlushPersistent;
  bench.qp->attr.qp_access_flags &= ~static_cast<unsigned>(kAccessFlushPersistent);
  bench.receive_flush(kRqPsn, {kBoth, Feth::kRange});
  expect_refused(bench, kInvalidRequest);
  EXPECT_EQ(bench.qp->error_cause.check, Check::kOperation);
}

TEST(Flush, OfPersistentMemoryIsTaken) {
  FlushBench bench;
  bench.target_region->access |= kAccessFlushPersistent;
  bench.receive_flush(kRqPsn, {kBoth, Feth::kRange});
  expect_empty_response(bench, "persistent");
}

TEST(Flush, WithReservedValuesIsRefused) {
  for (const Feth feth : {Feth{0, Feth::kRange}, Feth{4 | Feth::kGlobal, Feth::kRange},
                          Feth{Feth::kGlobal, 2}, Feth{Feth::kGlobal, 3}}) {
    FlushBench bench;
    bench.receive_flush(kRqPsn, feth);
    expect_refused(bench, kInvalidRequest);
    EXPECT_EQ(bench.qp->error_cause.check, Check::kPlacement);
  }
}

TEST(Flush, DuplicateIsAnsweredAgain) {
  FlushBench bench;
  bench.receive_flush(kRqPsn);
  const Lines first = bench.sent();
  bench.receive_flush(kRqPsn);
  EXPECT_EQ(bench.sent(), first);
  EXPECT_EQ(bench.qp->responder.msn, Msn(1));
  EXPECT_EQ(bench.device.counters().flush_requests, 1U);
}

// Expect: a duplicate that names another operation than was executed is dropped.
TEST(Flush, DuplicateOfAnotherKindIsDropped) {
  FlushBench bench;
  bench.receive_flush(kRqPsn);
  (void)bench.sent();
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kReadRequest, kRqPsn, bench.reth(kVa, rkey, 0));
  bench.receive(Operation::kAtomicWrite, kRqPsn, bench.reth(kVa, rkey, 8), counting(8));
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.dropped(DropReason::kMalformedRequest), 2U);
}

TEST(Flush, TakesAResource) {
  BenchOptions options;
  options.connect.max_dest_rd_atomic = 0;
  FlushBench bench(options);
  bench.receive_flush(kRqPsn);
  expect_refused(bench, kInvalidRequest);
  EXPECT_EQ(bench.qp->error_cause.check, Check::kTooManyReads);
}

struct FlushWindowBench : WindowBench {
  FlushWindowBench() { qp->attr.qp_access_flags |= kAccessFlushGlobal; }

  bool flush(RKey rkey, uint8_t selectivity) {
    Headers headers = reth(kWindowVa, rkey, 64);
    headers.feth = {Feth::kGlobal, selectivity};
    receive(Operation::kFlush, kRqPsn, headers);
    const Lines lines = sent();
    return lines.size() == 1 && lines[0].find("READ Response Only") == 0;
  }
};

TEST(Flush, ThroughAWindowThatGrantsIt) {
  for (const uint8_t selectivity : {Feth::kRange, Feth::kRegion}) {
    FlushWindowBench bench;
    bench.region->access |= kAccessFlushGlobal;
    BindRequest request = bench.whole();
    request.access |= kAccessFlushGlobal;
    bench.bind(request);
    EXPECT_TRUE(bench.flush(request.new_key, selectivity));
  }
}

TEST(Flush, ThroughAWindowThatDoesNotGrantIt) {
  FlushWindowBench bench;
  bench.region->access |= kAccessFlushGlobal;
  const BindRequest request = bench.whole();
  bench.bind(request);
  EXPECT_FALSE(bench.flush(request.new_key, Feth::kRegion));
  EXPECT_EQ(bench.qp->error_cause.check, Check::kRights);
}

// Expect: a window grants no FLUSH of a region that has not got the right.
TEST(Flush, WindowOfARegionWithoutTheRight) {
  FlushWindowBench bench;
  BindRequest request = bench.whole();
  request.access |= kAccessFlushGlobal;
  bench.post_bind(request);
  (void)bench.sent();
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_MW_BIND_ERR}}));
}

TEST(Flush, OfAnXrcInitiatorNamesTheQueue) {
  BenchOptions options;
  options.type = IBV_QPT_XRC_SEND;
  FlushBench bench(options);
  sim::SendRequest request;
  request.opcode = kWrFlush;
  request.remote_srqn = Srqn{0x1234};
  request.flush = {Feth::kPersistent, Feth::kRegion};
  bench.post(request);
  const Lines sent = bench.sent();
  ASSERT_EQ(sent.size(), 1U);
  EXPECT_NE(sent[0].find("srq 0x1234 placement persistent of the region"), std::string::npos)
      << sent[0];
}

TEST(Flush, OfAnXrcTargetIsAnswered) {
  BenchOptions options;
  options.type = IBV_QPT_XRC_RECV;
  FlushBench bench(options);
  Headers headers = bench.reth(kVa, bench.target_region->rkey, 64);
  headers.feth = {Feth::kGlobal, Feth::kRange};
  headers.xrc_srq = bench.srq->number;
  bench.receive(Operation::kFlush, kRqPsn, headers);
  expect_empty_response(bench, "XRC");
}

// Expect: acknowledged by its own response, not by an ACK of what follows.
TEST(Flush, CompletedByItsResponse) {
  FlushBench bench;
  bench.post(IBV_WR_RDMA_WRITE, 0);
  bench.post_flush();
  bench.post(IBV_WR_RDMA_WRITE, 0);
  const Lines sent = bench.sent();
  ASSERT_EQ(sent.size(), 3U);
  EXPECT_NE(sent[1].find("FLUSH psn 101"), std::string::npos) << sent[1];
  EXPECT_NE(sent[1].find("placement global of a range va 0x5000 rkey 0x77 dma 64"),
            std::string::npos)
      << sent[1];
  bench.receive_answer(kSqPsn + 1);
  const std::vector<ibv_wc> wcs = bench.poll(*bench.send_cq);
  ASSERT_EQ(wcs.size(), 2U);
  EXPECT_EQ(wcs[1].opcode, kWcFlush);
  EXPECT_EQ(wcs[1].byte_len, 0U);
  bench.receive_ack(kSqPsn + 2);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{3, IBV_WC_SUCCESS}}));
  EXPECT_EQ(bench.device.counters().sends, 0U);
}

TEST(Flush, IsSentAgainAfterTheAckTimeout) {
  FlushBench bench;
  bench.post_flush();
  const Lines first = bench.sent();
  bench.pass(kAckTimeout);
  EXPECT_EQ(bench.sent(), first);
}

// Expect: a request with a fence waits for the FLUSH before it.
TEST(Flush, HoldsUpAFencedRequest) {
  FlushBench bench;
  bench.post_flush();
  bench.post(IBV_WR_RDMA_WRITE, 1, IBV_SEND_FENCE);
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.receive_answer(kSqPsn);
  EXPECT_EQ(bench.sent().size(), 1U);
}

// Expect: a range is as long as a message at most.
TEST(Flush, OfTooLongARange) {
  FlushBench bench;
  bench.post_flush(0x80000001);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_LEN_ERR}}));
}

TEST(Flush, OfAPeerWithoutTheRight) {
  FlushBench bench;
  bench.post_flush();
  (void)bench.sent();
  bench.receive_nak(kSqPsn, NakCode::kRemoteAccessError);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_REM_ACCESS_ERR}}));
}

}  // namespace
}  // namespace urxe::test::flush_test
