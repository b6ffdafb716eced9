// SPDX-License-Identifier: BSD-2-Clause
#include "transport/queues/completion_counter.h"

#include <gtest/gtest.h>

#include "tests/transport/bench.h"

namespace urxe::test::completion_counter_test {
namespace {

constexpr uint64_t kVa = Bench::kTargetVa;

/// A bench with a counter for each kind.
struct CountingBench : Bench {
  explicit CountingBench(CompletionCounter::Type type = CompletionCounter::Type::kRequests,
                         const BenchOptions& options = {})
      : Bench(options) {
    for (size_t i = 0; i < CompletionCounters::kKinds; ++i) {
      counters.push_back(std::make_unique<CompletionCounter>(type));
      qp->completion_counters.of[i] = counters.back().get();
    }
  }
  /// The values of all that are not 0, such as "send 1 recv 2".
  [[nodiscard]] std::string values(std::atomic<uint64_t> CompletionCounter::*which) const {
    constexpr const char* kNames[] = {"send",        "recv",  "read",
                                      "remote_read", "write", "remote_write"};
    std::string text;
    for (size_t i = 0; i < counters.size(); ++i) {
      const uint64_t value = (*counters[i].*which).load();
      if (value == 0) continue;
      if (!text.empty()) text += ' ';
      text += kNames[i] + (' ' + std::to_string(value));
    }
    return text;
  }
  [[nodiscard]] std::string completed() const { return values(&CompletionCounter::completed); }
  [[nodiscard]] std::string failed() const { return values(&CompletionCounter::failed); }
  void receive_read_response(uint32_t psn, size_t bytes) {
    Headers headers;
    headers.aeth = {kAck, Msn(0)};
    receive(Operation::kReadResponseOnly, psn, headers, counting(bytes));
  }

  std::vector<std::unique_ptr<CompletionCounter>> counters;
};

TEST(CompletionCounter, CountsLocalRequestsByTheirKind) {
  CountingBench bench;
  bench.post(IBV_WR_SEND, 10);
  bench.post(IBV_WR_RDMA_WRITE, 20);
  bench.post(IBV_WR_SEND_WITH_IMM, 30);
  bench.post(IBV_WR_RDMA_READ, 40);
  bench.post(IBV_WR_RDMA_WRITE_WITH_IMM, 50);
  (void)bench.sent();
  EXPECT_EQ(bench.completed(), "");
  bench.receive_ack(kSqPsn + 2);
  bench.receive_read_response(kSqPsn + 3, 40);
  bench.receive_ack(kSqPsn + 4);
  EXPECT_EQ(bench.completed(), "send 2 read 1 write 2");
  EXPECT_EQ(bench.failed(), "");
}

// Expect: what nobody asked a completion of counts as well.
TEST(CompletionCounter, CountsUnsignaledRequests) {
  BenchOptions options;
  options.sq_sig_all = false;
  CountingBench bench(CompletionCounter::Type::kRequests, options);
  bench.post(IBV_WR_SEND, 10);
  (void)bench.sent();
  bench.receive_ack(kSqPsn);
  EXPECT_EQ(bench.send_statuses(), Statuses{});
  EXPECT_EQ(bench.completed(), "send 1");
}

TEST(CompletionCounter, CountsReceivesAndThePeersRequests) {
  CountingBench bench;
  bench.post_receive();
  bench.post_receive();
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kSendOnly, kRqPsn, {}, counting(3));
  bench.receive(Operation::kWriteOnly, kRqPsn + 1, bench.reth(kVa, rkey, 4), counting(4));
  bench.receive(Operation::kWriteOnlyImm, kRqPsn + 2, bench.reth(kVa, rkey, 5), counting(5));
  bench.receive(Operation::kReadRequest, kRqPsn + 3, bench.reth(kVa, rkey, 6));
  (void)bench.sent();
  EXPECT_EQ(bench.completed(), "recv 2 remote_read 1 remote_write 2");
}

// Expect: a message of several packets, and a READ that is answered again, count once.
TEST(CompletionCounter, CountsEachOfThePeersRequestsOnce) {
  CountingBench bench;
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kWriteFirst, kRqPsn, bench.reth(kVa, rkey, 2 * kMtu), counting(kMtu));
  EXPECT_EQ(bench.completed(), "");
  bench.receive(Operation::kWriteLast, kRqPsn + 1, {}, counting(kMtu));
  for (int i = 0; i < 2; ++i) {
    bench.receive(Operation::kReadRequest, kRqPsn + 2, bench.reth(kVa, rkey, 3 * kMtu));
    (void)bench.sent();
  }
  EXPECT_EQ(bench.completed(), "remote_read 1 remote_write 1");
}

TEST(CompletionCounter, CountsBytes) {
  CountingBench bench(CompletionCounter::Type::kBytes);
  bench.post_receive();
  bench.post(IBV_WR_SEND, 10);
  bench.post(IBV_WR_RDMA_WRITE, 2000);
  bench.post(IBV_WR_RDMA_READ, 40);
  (void)bench.sent();
  bench.receive_ack(kSqPsn + 2);
  bench.receive_read_response(kSqPsn + 3, 40);
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kSendOnly, kRqPsn, {}, counting(3));
  bench.receive(Operation::kWriteOnly, kRqPsn + 1, bench.reth(kVa, rkey, 4), counting(4));
  bench.receive(Operation::kReadRequest, kRqPsn + 2, bench.reth(kVa, rkey, 600));
  (void)bench.sent();
  EXPECT_EQ(bench.completed(), "send 10 recv 3 read 40 remote_read 600 write 2000 remote_write 4");
}

// Expect: one for each request that fails or is flushed, also where bytes are counted.
TEST(CompletionCounter, CountsFailures) {
  CountingBench bench(CompletionCounter::Type::kBytes);
  bench.post_receive();
  bench.post(IBV_WR_RDMA_WRITE, 8);
  bench.post(IBV_WR_SEND, 8);
  (void)bench.sent();
  bench.receive_nak(kSqPsn, NakCode::kRemoteAccessError);
  EXPECT_EQ(bench.failed(), "send 1 recv 1 write 1");
  EXPECT_EQ(bench.completed(), "");
}

TEST(CompletionCounter, CountsDatagrams) {
  BenchOptions options;
  options.type = IBV_QPT_UD;
  CountingBench bench(CompletionCounter::Type::kRequests, options);
  bench.post_receive();
  bench.post_datagram(10);
  (void)bench.sent();
  bench.receive(Operation::kSendOnly, 0, Bench::deth(), counting(3));
  EXPECT_EQ(bench.completed(), "send 1 recv 1");
}

TEST(CompletionCounter, CountsWritesOfUc) {
  BenchOptions options;
  options.type = IBV_QPT_UC;
  CountingBench bench(CompletionCounter::Type::kRequests, options);
  const RKey rkey = bench.target_region->rkey;
  bench.receive(Operation::kWriteOnly, kRqPsn, bench.reth(kVa, rkey, 4), counting(4));
  EXPECT_EQ(bench.completed(), "remote_write 1");
}

}  // namespace
}  // namespace urxe::test::completion_counter_test
