// SPDX-License-Identifier: BSD-2-Clause
// A slow peer is not a dead one: nothing is lost, and the answers take a thousand times as long as
// the first probe waits.
#include <gtest/gtest.h>

#include "tests/transport/pair.h"

namespace urxe::test::slow_peer_test {
namespace {

constexpr uint32_t kReadBytes = 65537;
constexpr uint32_t kMessages = 20;

PairOptions slow() {
  PairOptions options;
  options.connect.mtu = IBV_MTU_1024;
  options.connect.timeout = 18;  // 1.07 s
  options.connect.retry_cnt = 7;
  options.sq_depth = kMessages;
  return options;
}

void expect_all(Pair& pair, ibv_wr_opcode opcode, uint32_t length) {
  for (uint32_t i = 0; i < kMessages; ++i) ASSERT_TRUE(pair.post(0, opcode, length));
  EXPECT_TRUE(pair.run_until([&] { return pair.succeeded() + pair.failed() == kMessages; }));
  EXPECT_EQ(pair.succeeded(), kMessages);
  EXPECT_EQ(pair.failed(), 0U);
}

class SlowPeer : public testing::TestWithParam<std::pair<ibv_wr_opcode, uint32_t>> {};

// The network takes 2 s each way. Expect: all is done, at the cost of few packets sent twice.
TEST_P(SlowPeer, FarAway) {
  PairOptions options = slow();
  options.latency = seconds(2);
  Pair pair(options);
  expect_all(pair, GetParam().first, GetParam().second);
  EXPECT_LT(pair.counters(0).retransmitted_packets, 40U);
}

// The peer takes 60 ms for each packet. Expect: the same; and it is not made slower still by what
// it is asked for again and again.
TEST_P(SlowPeer, SlowAtEachPacket) {
  PairOptions options = slow();
  options.service[1] = milliseconds(60);
  Pair pair(options);
  expect_all(pair, GetParam().first, GetParam().second);
  EXPECT_LT(pair.counters(0).retransmitted_packets, 40U);
}

// This side takes 60 ms for each packet that the peer sends. Expect: the same.
TEST_P(SlowPeer, SlowAtEachAnswer) {
  PairOptions options = slow();
  options.service[0] = milliseconds(60);
  Pair pair(options);
  expect_all(pair, GetParam().first, GetParam().second);
  EXPECT_LT(pair.counters(0).retransmitted_packets, 40U);
}

INSTANTIATE_TEST_SUITE_P(Requests, SlowPeer,
                         testing::Values(std::pair(IBV_WR_SEND, 4000U),
                                         std::pair(IBV_WR_RDMA_WRITE, kReadBytes),
                                         std::pair(IBV_WR_RDMA_READ, kReadBytes),
                                         std::pair(IBV_WR_ATOMIC_FETCH_AND_ADD, 8U)));

}  // namespace
}  // namespace urxe::test::slow_peer_test
