// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/memory/memory.h"

#include <gtest/gtest.h>

#include "tests/packet/engine/engine_fixture.h"

namespace urxe::test::memory_test {
namespace {

const Gid kLeft = ipv4(10, 0, 0, 1);
const Gid kRight = ipv4(10, 0, 0, 2);

/// The PSNs of all packets that wait.
std::vector<uint32_t> receive_psns(EngineLane& lane) {
  std::vector<uint32_t> psns;
  for (auto packets = lane.receive(); !packets.empty(); packets = lane.receive()) {
    for (const RxPacket& packet : packets) {
      const Received received = keep(packet);
      if (received.headers) psns.push_back(received.headers->bth.psn.value());
    }
  }
  return psns;
}

TEST(MemoryEngine, KnowsTheIdentificationOfSegments) {
  const auto network = std::make_shared<MemoryNetwork>();
  TxBatch::Limits limits;
  limits.segments_per_message = 16;
  limits.identification = Identification::kBySegment;
  MemoryEngine left(network, limits);
  MemoryEngine right(network);
  ASSERT_TRUE(left.open_address(kLeft) && right.open_address(kRight));
  TxBatch batch(left.batch_limits());
  for (uint32_t psn = 0; psn < 20; ++psn) {
    append(batch, {kLeft, kRight, 0xc000, 0, 64}, send_only(9, psn), 32);
  }
  ASSERT_EQ(batch.messages().size(), 2U);
  left.transmit(batch);
  EXPECT_EQ(receive_psns(right).size(), 20U);
}

TEST(MemoryEngine, DropsWhatIsForNobody) {
  const auto network = std::make_shared<MemoryNetwork>();
  MemoryEngine left(network);
  MemoryEngine right(network);
  ASSERT_TRUE(left.open_address(kLeft) && right.open_address(kRight));
  TxBatch batch(left.batch_limits());
  for (uint32_t psn = 0; psn < 2; ++psn) {
    append(batch, {kLeft, kRight, 0xc000, 0, 64}, send_only(9, psn), 4);
  }
  append(batch, {kLeft, ipv4(10, 0, 0, 3), 0xc000, 0, 64}, send_only(9, 3), 4);
  left.transmit(batch);
  EXPECT_EQ(receive_psns(right), (std::vector<uint32_t>{0, 1}));
  EXPECT_EQ(network->delivered(), 2U);
  EXPECT_EQ(network->lost(), 1U);
}

TEST(MemoryEngine, OneEngineHasAnAddress) {
  const auto network = std::make_shared<MemoryNetwork>();
  MemoryEngine left(network);
  ASSERT_TRUE(left.open_address(kLeft));
  ASSERT_TRUE(left.open_address(kLeft));
  {
    MemoryEngine right(network);
    EXPECT_FALSE(right.open_address(kLeft));
    EXPECT_TRUE(right.open_address(kRight));
  }
  EXPECT_TRUE(left.open_address(kRight)) << "free again";
}

}  // namespace
}  // namespace urxe::test::memory_test
