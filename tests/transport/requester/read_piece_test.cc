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

TEST(ReadPiece, IsTheQueuePairs) {
  BenchOptions options;
  options.socket_window = 170000;
  EXPECT_EQ(Bench(options).qp->read_piece, 64U);
  options.socket_window = 1024 * 1024;
  EXPECT_EQ(Bench(options).qp->read_piece, 123U);
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
