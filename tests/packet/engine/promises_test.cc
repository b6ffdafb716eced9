// SPDX-License-Identifier: BSD-2-Clause
// What engines promise, and the batches that follow from it.
#include <gtest/gtest.h>

#include <memory>
#include <utility>

#include "packet/engine/fault.h"
#include "packet/engine/memory/memory.h"
#include "packet/engine/udp/udp.h"
#include "packet/engine/udp/udp_socket.h"
#include "tests/packet/engine/engine_fixture.h"

namespace urxe::test::promises_test {
namespace {

TxBatch::Limits unlike_the_usual() {
  TxBatch::Limits limits;
  limits.bytes = 60000;
  limits.packets = 7;
  limits.segments_per_message = 5;
  limits.message_bytes = 50000;
  limits.identification = Identification::kBySegment;
  limits.seals = false;
  limits.elsewhere_from = 777;
  return limits;
}

void expect_equal(const TxBatch::Limits& a, const TxBatch::Limits& b) {
  EXPECT_EQ(a.bytes, b.bytes);
  EXPECT_EQ(a.packets, b.packets);
  EXPECT_EQ(a.segments_per_message, b.segments_per_message);
  EXPECT_EQ(a.message_bytes, b.message_bytes);
  EXPECT_EQ(a.identification, b.identification);
  EXPECT_EQ(a.seals, b.seals);
  EXPECT_EQ(a.elsewhere_from, b.elsewhere_from);
}

TEST(EnginePromises, ABatchFollowsFromThemAndTheLanesLimits) {
  MemoryEngine engine(std::make_shared<MemoryNetwork>(), unlike_the_usual());
  expect_equal(engine.batch_limits(), unlike_the_usual());
}

TEST(EnginePromises, FaultsChangeNone) {
  auto inner =
      std::make_unique<MemoryEngine>(std::make_shared<MemoryNetwork>(), unlike_the_usual());
  FaultEngine engine(std::move(inner), {});
  EXPECT_EQ(engine.lanes(), 1U);
  expect_equal(engine.batch_limits(), unlike_the_usual());
}

TEST(EnginePromises, UdpSocketsNeedIcrcsAndMayLose) {
  UdpEngine engine{UdpConfig{}};
  const EnginePromises promises = engine.promises();
  EXPECT_FALSE(promises.integrity);
  EXPECT_FALSE(promises.lossless);
  EXPECT_EQ(promises.largest_packet, UINT32_MAX) << "the interface decides";
  EXPECT_EQ(promises.receive_buffer, receive_buffer_bytes({.buffer_bytes = 4 << 20}));
  EXPECT_GT(promises.receive_buffer, 0U);
}

TEST(EnginePromises, UdpTakesLongPayloadsFromWhereTheyLie) {
  EXPECT_LE(UdpEngine(UdpConfig{}).promises().elsewhere_from, 4096U);
}

TEST(EnginePromises, UdpSegmentsIfTheKernelDoes) {
  UdpConfig config;
  const EnginePromises with = UdpEngine(config).promises();
  config.segmentation = false;
  const EnginePromises without = UdpEngine(config).promises();
  EXPECT_EQ(with.segments_per_message > 1, kernel_segments_udp());
  EXPECT_EQ(with.identification == Identification::kBySegment, kernel_segments_udp());
  EXPECT_EQ(without.segments_per_message, 1U);
  EXPECT_EQ(without.identification, Identification::kZero);
}

}  // namespace
}  // namespace urxe::test::promises_test
