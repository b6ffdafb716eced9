// SPDX-License-Identifier: BSD-2-Clause
// ATOMIC WRITE (annex A19): 8 aligned bytes, answered by a READ response without data.
#include <gtest/gtest.h>

#include <cstring>

#include "tests/transport/responder/empty_response_bench.h"

namespace urxe::test::atomic_write_test {
namespace {

constexpr uint64_t kVa = Bench::kTargetVa;
const std::vector<uint8_t> kValue{1, 2, 3, 4, 5, 6, 7, 8};

struct AtomicWriteBench : EmptyResponseBench {
  using EmptyResponseBench::EmptyResponseBench;

  void receive_write(uint32_t psn, uint64_t va = kVa, uint32_t length = 8,
                     const std::vector<uint8_t>& payload = kValue) {
    receive(Operation::kAtomicWrite, psn, reth(va, target_region->rkey, length), payload);
  }
  std::vector<uint8_t> target_bytes() { return {target, target + 8}; }
};

/// What a request was answered by, and that nothing was written.
void expect_refused(AtomicWriteBench& bench, const char* why) {
  const Lines sent = bench.sent();
  ASSERT_EQ(sent.size(), 1U) << why;
  EXPECT_NE(sent[0].find("nak"), std::string::npos) << sent[0];
  EXPECT_EQ(bench.target_bytes(), std::vector<uint8_t>(8, 0)) << why;
  EXPECT_EQ(bench.qp->state(), IBV_QPS_ERR) << why;
}

TEST(AtomicWrite, StoresAndAnswersWithoutData) {
  AtomicWriteBench bench;
  bench.receive_write(kRqPsn);
  expect_empty_response(bench, "8 bytes");
  EXPECT_EQ(bench.target_bytes(), kValue);
}

// Expect: answered again, and what was stored since is not overwritten.
TEST(AtomicWrite, DuplicateIsNotExecutedAgain) {
  AtomicWriteBench bench;
  bench.receive_write(kRqPsn);
  const Lines first = bench.sent();
  const std::vector<uint8_t> later(8, 9);
  std::memcpy(bench.target, later.data(), 8);
  bench.receive_write(kRqPsn);
  EXPECT_EQ(bench.sent(), first);
  EXPECT_EQ(bench.target_bytes(), later);
}

// Expect: a duplicate that names another operation than was executed is dropped.
TEST(AtomicWrite, DuplicateOfAnotherKindIsDropped) {
  AtomicWriteBench bench;
  bench.receive_write(kRqPsn);
  (void)bench.sent();
  bench.receive(Operation::kReadRequest, kRqPsn, bench.reth(kVa, bench.target_region->rkey, 0));
  Headers atomic;
  atomic.atomic = {kVa, bench.target_region->rkey, 1, 0};
  bench.receive(Operation::kFetchAdd, kRqPsn, atomic);
  EXPECT_EQ(bench.sent(), Lines{});
  EXPECT_EQ(bench.dropped(DropReason::kMalformedRequest), 2U);
}

TEST(AtomicWrite, RefusedWhereItIsNotEightAlignedBytes) {
  {
    AtomicWriteBench bench;
    bench.receive_write(kRqPsn, kVa + 4);
    expect_refused(bench, "unaligned");
  }
  {
    AtomicWriteBench bench;
    bench.receive_write(kRqPsn, kVa, 4, {1, 2, 3, 4});
    expect_refused(bench, "short");
  }
  {
    AtomicWriteBench bench;
    bench.receive_write(kRqPsn, kVa, 16, std::vector<uint8_t>(16, 1));
    expect_refused(bench, "long");
  }
  {
    AtomicWriteBench bench;
    bench.receive_write(kRqPsn, kVa, 16);
    expect_refused(bench, "not what its RETH says");
  }
  {
    AtomicWriteBench bench;
    bench.receive_write(kRqPsn, kVa + 8192);
    expect_refused(bench, "beyond the region");
  }
}

TEST(AtomicWrite, NeedsTheRightToWrite) {
  AtomicWriteBench bench;
  bench.target_region->access &= ~IBV_ACCESS_REMOTE_WRITE;
  bench.receive_write(kRqPsn);
  expect_refused(bench, "a region that is not writable");
}

// Expect: acknowledged by its own response, not by an ACK of what follows.
TEST(AtomicWrite, CompletedByItsResponse) {
  AtomicWriteBench bench;
  bench.post(IBV_WR_ATOMIC_WRITE, 8);
  bench.post(IBV_WR_RDMA_WRITE, 0);
  const Lines sent = bench.sent();
  ASSERT_EQ(sent.size(), 2U);
  EXPECT_NE(sent[0].find("ATOMIC WRITE psn 100"), std::string::npos) << sent[0];
  EXPECT_NE(sent[0].find("dma 8 len 8"), std::string::npos) << sent[0];
  bench.receive_answer(kSqPsn);
  const std::vector<ibv_wc> wcs = bench.poll(*bench.send_cq);
  ASSERT_EQ(wcs.size(), 1U);
  EXPECT_EQ(wcs[0].opcode, IBV_WC_ATOMIC_WRITE);
  EXPECT_EQ(wcs[0].byte_len, 8U);
  bench.receive_ack(kSqPsn + 1);
  EXPECT_EQ(bench.send_statuses(), (Statuses{{2, IBV_WC_SUCCESS}}));
}

TEST(AtomicWrite, OfAnotherLengthThanEight) {
  for (const uint32_t length : {0U, 4U, 16U}) {
    AtomicWriteBench bench;
    bench.post(IBV_WR_ATOMIC_WRITE, length);
    EXPECT_EQ(bench.sent(), Lines{});
    EXPECT_EQ(bench.send_statuses(), (Statuses{{1, IBV_WC_LOC_LEN_ERR}}));
  }
}

}  // namespace
}  // namespace urxe::test::atomic_write_test
