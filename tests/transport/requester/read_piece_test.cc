// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/read_piece.h"

#include <gtest/gtest.h>

#include "tests/transport/bench.h"

namespace urxe::test::read_piece_test {
namespace {

// Expect: pieces of two full datagrams and three packets where the receive buffer has room for
// several, otherwise of 64 KiB.
TEST(ReadPiece, IsLargeWhereTheReceiveBufferIs) {
  EXPECT_EQ(read_piece_packets(1024 * 1024, 4096), 33U);
  EXPECT_EQ(read_piece_packets(1024 * 1024, 1024), 123U);
  EXPECT_EQ(read_piece_packets(1024 * 1024, 256), 123U);
  EXPECT_EQ(read_piece_packets(170000, 4096), 16U);
  EXPECT_EQ(read_piece_packets(170000, 1024), 64U);
  EXPECT_EQ(read_piece_packets(1, 256), 64U);
}

/// The lengths of the requests for a READ of 40,000 bytes, with a path MTU of 256.
std::vector<uint32_t> requested(uint32_t socket_window) {
  BenchOptions options;
  options.socket_window = socket_window;
  options.connect.mtu = IBV_MTU_256;
  Bench bench(options);
  bench.post(IBV_WR_RDMA_READ, 40000);
  bench.sent();
  std::vector<uint32_t> lengths;
  for (const Headers& headers : bench.headers()) lengths.push_back(headers.reth.dma_length);
  return lengths;
}

TEST(ReadPiece, IsAskedForByOneRequest) {
  EXPECT_EQ(requested(1024 * 1024), (std::vector<uint32_t>{123 * 256, 40000 - 123 * 256}));
  EXPECT_EQ(requested(100000), (std::vector<uint32_t>{64 * 256, 64 * 256, 40000 - 2 * 64 * 256}));
}

// 9.7.7.2. Expect: the responder counts each request as a message, and gives its credits from there
// on.
TEST(ReadPiece, CountsAsAMessage) {
  BenchOptions options;
  options.connect.mtu = IBV_MTU_256;
  options.socket_window = 1024 * 1024;
  Bench bench(options);
  bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 1U);
  bench.receive_ack(kSqPsn, 3, 1);  // three more receives there, that is up to message 4
  bench.post(IBV_WR_RDMA_READ, 40000);
  EXPECT_EQ(bench.sent().size(), 2U);
  for (int i = 0; i < 3; ++i) bench.post(IBV_WR_SEND, 0);
  EXPECT_EQ(bench.sent().size(), 1U) << "the READ is messages 2 and 3";
}

// Expect: the last response of a READ shares a datagram with the first two of the next one. The
// others fill theirs. READs that fill one such datagram stand for pieces, which fill two: the
// memory of these tests is smaller.
TEST(ReadPiece, ResponsesFillDatagrams) {
  constexpr uint32_t kAlike = 5;
  constexpr uint32_t kPackets = kAlike + 3;
  constexpr uint32_t kReads = 4;
  BenchOptions options;
  Bench bench(options);
  const Headers read = bench.reth(Bench::kTargetVa, bench.target_region->rkey, kPackets * kMtu);
  for (uint32_t i = 0; i < kReads; ++i) {
    bench.receive(Operation::kReadRequest, kRqPsn + i * kPackets, read);
  }
  EXPECT_EQ(bench.sent(AckPolicy::kAll, kAlike).size(), kReads * kPackets);
  // The first READ has no last one before it, and the last response of all is alone.
  EXPECT_EQ(bench.datagrams(), 2 * kReads + 1);
}

}  // namespace
}  // namespace urxe::test::read_piece_test
