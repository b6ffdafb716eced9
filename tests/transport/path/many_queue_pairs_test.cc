// SPDX-License-Identifier: BSD-2-Clause
// Many queue pairs that send to one process, over a network that loses nothing. What a socket
// buffer has no room for is lost.
#include <gtest/gtest.h>

#include <algorithm>

#include "tests/transport/pair.h"

namespace urxe::test {
namespace {

/// What Linux makes of its usual net.core.rmem_max.
constexpr size_t kUsualBuffer = 425984;

void expect_lossless(const Pair& pair, uint64_t messages) {
  EXPECT_EQ(pair.succeeded(), messages);
  EXPECT_EQ(pair.failed(), 0U);
  EXPECT_EQ(pair.overflowed(), 0U);
  EXPECT_EQ(pair.counters(0).ack_timeouts, 0U);
  EXPECT_LE(pair.counters(0).retransmitted_packets * 100, pair.counters(0).sent_packets);
}

/// Each queue pair sends `each` messages, one after the other.
uint64_t run(Pair& pair, uint32_t connections, ibv_wr_opcode opcode, uint32_t length,
             uint32_t each) {
  std::vector<uint32_t> left(connections, each - 1);
  pair.on_completion = [&](uint32_t index) {
    if (left[index] == 0) return;
    --left[index];
    EXPECT_TRUE(pair.post(index, opcode, length));
  };
  for (uint32_t i = 0; i < connections; ++i) EXPECT_TRUE(pair.post(i, opcode, length));
  const uint64_t messages = uint64_t{connections} * each;
  EXPECT_TRUE(pair.run_until([&] { return pair.succeeded() + pair.failed() >= messages; }));
  return messages;
}

// Expect: ten thousand queue pairs with default timeouts do not overrun the receiver.
TEST(ManyQueuePairs, TenThousandSmallWrites) {
  PairOptions options;
  options.connections = 10000;
  options.sq_depth = 1;
  options.receive_buffer = kUsualBuffer;
  Pair pair(options);
  expect_lossless(pair, run(pair, options.connections, IBV_WR_RDMA_WRITE, 8, 3));
}

TEST(ManyQueuePairs, TenThousandSends) {
  PairOptions options;
  options.connections = 10000;
  options.sq_depth = 1;
  options.receive_buffer = kUsualBuffer;
  Pair pair(options);
  expect_lossless(pair, run(pair, options.connections, IBV_WR_SEND, 4096, 1));
}

// Expect: long messages too, both written and read.
TEST(ManyQueuePairs, AThousandLongMessages) {
  for (const ibv_wr_opcode opcode : {IBV_WR_RDMA_WRITE, IBV_WR_RDMA_READ}) {
    PairOptions options;
    options.connections = 1000;
    options.sq_depth = 2;
    options.receive_buffer = kUsualBuffer;
    Pair pair(options);
    expect_lossless(pair, run(pair, options.connections, opcode, 65536, 2));
  }
}

// Expect: without segmentation, too.
TEST(ManyQueuePairs, SinglePackets) {
  PairOptions options;
  options.connections = 300;
  options.sq_depth = 2;
  options.segments = 1;
  options.receive_buffer = kUsualBuffer;
  Pair pair(options);
  expect_lossless(pair, run(pair, options.connections, IBV_WR_RDMA_WRITE, 65536, 3));
}

// Expect: who sends long messages gets its share and no more.
TEST(ManyQueuePairs, TheShareIsFair) {
  PairOptions options;
  options.connections = 64;
  options.sq_depth = 4;
  options.receive_buffer = kUsualBuffer;
  Pair pair(options);
  pair.on_completion = [&](uint32_t index) { pair.post(index, IBV_WR_RDMA_WRITE, 65536); };
  for (uint32_t i = 0; i < options.connections; ++i) {
    for (int n = 0; n < 4; ++n) pair.post(i, IBV_WR_RDMA_WRITE, 65536);
  }
  EXPECT_TRUE(pair.run_until([&] { return pair.succeeded() >= 6400; }));
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  for (uint32_t i = 0; i < options.connections; ++i) {
    least = std::min(least, pair.succeeded(i));
    most = std::max(most, pair.succeeded(i));
  }
  EXPECT_GE(least * 2, most);
}

// Expect: a thousand with always something to send get the same, whatever their messages' sizes: in
// bytes no one gets less than half of the mean, or more than twice as much.
TEST(ManyQueuePairs, AThousandGetEqualShares) {
  constexpr uint32_t kBusy = 1000;
  constexpr uint32_t kSizes[] = {4096, 16384, 65536};
  PairOptions options;
  options.connections = kBusy;
  options.sq_depth = 32;
  options.receive_buffer = kUsualBuffer;
  Pair pair(options);
  const auto size_of = [&](uint32_t index) { return kSizes[index % std::size(kSizes)]; };
  const auto depth_of = [&](uint32_t index) { return std::min(32U, 262144 / size_of(index)); };
  uint64_t bytes = 0;
  pair.on_completion = [&](uint32_t index) {
    bytes += size_of(index);
    pair.post(index, IBV_WR_RDMA_WRITE, size_of(index));
  };
  for (uint32_t i = 0; i < kBusy; ++i) {
    for (uint32_t n = 0; n < depth_of(i); ++n) pair.post(i, IBV_WR_RDMA_WRITE, size_of(i));
  }
  constexpr uint64_t kMean = 1 << 20;
  EXPECT_TRUE(pair.run_until([&] { return bytes >= kBusy * kMean; }));
  EXPECT_EQ(pair.failed(), 0U);
  uint64_t least = UINT64_MAX;
  uint64_t most = 0;
  for (uint32_t i = 0; i < kBusy; ++i) {
    least = std::min(least, pair.succeeded(i) * size_of(i));
    most = std::max(most, pair.succeeded(i) * size_of(i));
  }
  EXPECT_GE(least * 2, kMean) << most;
  EXPECT_LE(most, 2 * kMean) << least;
}

// Expect: a small write beside 256 busy queue pairs waits for about one turn of each, not for
// everything that they have to send.
TEST(ManyQueuePairs, ASmallWriteBesideBusyOnes) {
  constexpr uint32_t kBusy = 256;
  PairOptions options;
  options.connections = kBusy + 1;
  options.sq_depth = 4;
  options.receive_buffer = kUsualBuffer;
  Pair pair(options);
  uint64_t others = 0;
  bool done = false;
  pair.on_completion = [&](uint32_t index) {
    if (index == kBusy) {
      done = true;
    } else {
      ++others;
      pair.post(index, IBV_WR_RDMA_WRITE, 1 << 20);
    }
  };
  for (uint32_t i = 0; i < kBusy; ++i) {
    for (int n = 0; n < 4; ++n) pair.post(i, IBV_WR_RDMA_WRITE, 1 << 20);
  }
  pair.run_for(milliseconds(50));
  const uint64_t before = pair.counters(0).sent_bytes;
  ASSERT_TRUE(pair.post(kBusy, IBV_WR_RDMA_WRITE, 8));
  EXPECT_TRUE(pair.run_until([&] { return done; }));
  EXPECT_LT(pair.counters(0).sent_bytes - before, 1U << 20) << "of the others, meanwhile";
}

}  // namespace
}  // namespace urxe::test
