// SPDX-License-Identifier: BSD-2-Clause
// Messages one at a time over a network that loses one packet of ten each way: there is always a
// packet whose loss nothing behind it tells of, and answers, NAKs and probes are lost as well.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/transport/pair.h"

namespace urxe::test::lossy_path_test {
namespace {

constexpr uint32_t kMessages = 100;
constexpr uint64_t kSeeds = 8;

/// What the messages of some runs took, in virtual time.
struct Times {
  Duration sum{};
  Duration worst{};
  uint64_t failed = 0;
};

void run_messages(Times& times, const PairOptions& options, ibv_wr_opcode opcode, uint32_t length) {
  Pair pair(options);
  for (uint32_t i = 0; i < kMessages && pair.failed() == 0; ++i) {
    const Instant begin = pair.now();
    ASSERT_TRUE(pair.post(0, opcode, length));
    ASSERT_TRUE(pair.run_until([&] { return pair.succeeded() + pair.failed() == i + 1; }));
    times.sum = times.sum + (pair.now() - begin);
    times.worst = std::max(times.worst, pair.now() - begin);
  }
  times.failed += pair.failed();
}

Times run_all(ibv_wr_opcode opcode, uint32_t length, Duration latency) {
  Times times;
  for (uint64_t seed = 1; seed <= kSeeds; ++seed) {
    PairOptions options;
    options.connect.mtu = IBV_MTU_1024;
    options.connect.timeout = 14;  // 67 ms
    options.connect.retry_cnt = 7;
    options.latency = latency;
    options.loss = 0.1;
    options.seed = seed;
    run_messages(times, options, opcode, length);
  }
  return times;
}

class LossyPath : public testing::TestWithParam<std::pair<ibv_wr_opcode, uint32_t>> {};

// A round trip takes 20 us. Expect: nothing fails, and a message takes less than two milliseconds
// in the mean, not ACK timeouts; the unluckiest one takes few of these.
TEST_P(LossyPath, RepairsWithinMilliseconds) {
  const Times times = run_all(GetParam().first, GetParam().second, microseconds(10));
  EXPECT_EQ(times.failed, 0U);
  EXPECT_LT(times.sum.ns / (kMessages * kSeeds), milliseconds(2).ns);
  EXPECT_LT(times.worst.ns, milliseconds(250).ns);
}

// A round trip takes 10 ms. Expect: some round trips in the mean.
TEST_P(LossyPath, RepairsWithinRoundTrips) {
  const Times times = run_all(GetParam().first, GetParam().second, milliseconds(5));
  EXPECT_EQ(times.failed, 0U);
  EXPECT_LT(times.sum.ns / (kMessages * kSeeds), milliseconds(200).ns);
}

INSTANTIATE_TEST_SUITE_P(Requests, LossyPath,
                         testing::Values(std::pair(IBV_WR_SEND, 8U), std::pair(IBV_WR_SEND, 8192U),
                                         std::pair(IBV_WR_RDMA_WRITE, 8192U),
                                         std::pair(IBV_WR_RDMA_WRITE, 65536U),
                                         std::pair(IBV_WR_RDMA_READ, 8192U),
                                         std::pair(IBV_WR_RDMA_READ, 65536U),
                                         std::pair(IBV_WR_ATOMIC_FETCH_AND_ADD, 8U)));

}  // namespace
}  // namespace urxe::test::lossy_path_test
