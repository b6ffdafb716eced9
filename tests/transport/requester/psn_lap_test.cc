// SPDX-License-Identifier: BSD-2-Clause
// Packet sequence numbers that go all the way round: 2^24 packets and some more.
#include <gtest/gtest.h>

#include "packet/wire/psn.h"
#include "tests/transport/pair.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe::test {
namespace {

constexpr uint64_t kLap = uint64_t{Psn::kMask} + 1;
constexpr uint32_t kSmallMtu = 256;

/// A network without delays that matter, and the smallest packets.
PairOptions fast() {
  PairOptions options;
  options.latency = nanoseconds(100);
  options.service[0] = options.service[1] = nanoseconds(10);
  options.segments = 60;
  options.connect.mtu = IBV_MTU_256;
  return options;
}

// Expect: long READs, a WRITE and an atomic in between, as if nothing were. A READ takes a number
// for each packet of its response; records of old ones must not be taken for new ones a lap later.
TEST(PsnLap, RequestsSucceedAllTheWayRound) {
#if !defined(NDEBUG) || defined(__SANITIZE_ADDRESS__)
  GTEST_SKIP() << "takes a minute where the compiler does not optimize";
#endif
  Pair pair(fast());
  constexpr uint32_t kLength = 1 << 20;
  const uint64_t reads = kLap / (kLength / kSmallMtu) + 2;
  uint64_t posted = 0;
  const auto post = [&](uint32_t /*index*/) {
    if (posted == reads) return;
    ++posted;
    EXPECT_TRUE(pair.post(0, IBV_WR_RDMA_READ, kLength));
  };
  pair.on_completion = post;
  post(0);
  ASSERT_TRUE(pair.run_until([&] { return pair.succeeded() + pair.failed() >= reads; }));
  EXPECT_EQ(pair.failed(), 0U);
  EXPECT_EQ(pair.counters(0).ack_timeouts, 0U);
  EXPECT_EQ(pair.counters(0).retransmitted_packets, 0U);
  pair.on_completion = nullptr;
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_SEND}) {
    ASSERT_TRUE(pair.post(0, opcode, 3000));
  }
  EXPECT_TRUE(pair.run_until([&] { return pair.succeeded() == reads + 2; }));
  EXPECT_EQ(pair.local, pair.remote) << "all of it was read";
}

}  // namespace
}  // namespace urxe::test
