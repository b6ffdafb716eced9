// SPDX-License-Identifier: BSD-2-Clause
// Decorators around an engine that has no room at times.
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "packet/engine/capture.h"
#include "packet/engine/fault.h"
#include "packet/engine/memory/memory.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/packet/engine/scarce_engine.h"
#include "tests/support/capture_file.h"

namespace urxe::test::no_room_test {
namespace {

const Gid kHere = ipv4(10, 0, 0, 1);
const Gid kThere = ipv4(10, 0, 0, 2);
const Flow kFlow{kHere, kThere, 0xc000, 0, 64};
constexpr size_t kPlenty = 1000000;

void fill(TxBatch& batch, uint32_t psn, size_t count) {
  for (size_t i = 0; i < count; ++i) {
    append(batch, kFlow, send_only(9, psn + static_cast<uint32_t>(i)), 64);
  }
}

std::vector<uint32_t> range(uint32_t begin, uint32_t end) {
  std::vector<uint32_t> all;
  for (uint32_t i = begin; i < end; ++i) all.push_back(i);
  return all;
}

/// What comes out of a faulty line if there is room for so many packets at a time.
std::vector<uint32_t> carry(const FaultPlan& plan, size_t room_at_a_time) {
  constexpr uint32_t kBatches = 40;
  constexpr uint32_t kPackets = 25;
  auto inner = std::make_unique<ScarceEngine>();
  ScarceEngine& scarce = *inner;
  FaultEngine faulty(std::move(inner), plan);
  TxBatch batch(faulty.batch_limits());
  for (uint32_t i = 0; i < kBatches; ++i) {
    fill(batch, i * kPackets, kPackets);
    for (faulty.lane(0).transmit(batch); !batch.empty(); faulty.lane(0).transmit(batch)) {
      scarce.give_room(room_at_a_time);
    }
  }
  do {
    scarce.give_room(room_at_a_time);
    faulty.lane(0).receive();  // sends what was held back
  } while (faulty.lane(0).has_unsent());
  return scarce.taken;
}

// Expect: the same packets in the same order as if there were room at once.
TEST(NoRoom, FaultsAreDrawnOnce) {
  const FaultRates lines[] = {{},
                              {.loss = 100000},
                              {.duplication = 100000},
                              {.reordering = 10000},
                              {.loss = 10000, .duplication = 10000, .reordering = 10000}};
  for (const FaultRates& rates : lines) {
    FaultPlan plan;
    plan.outgoing = rates;
    const auto at_once = carry(plan, kPlenty);
    EXPECT_GT(at_once.size(), 800U);
    for (const size_t room : {1U, 7U, 40U}) EXPECT_EQ(carry(plan, room), at_once) << room;
  }
}

TEST(NoRoom, DelayedPacketsWaitAndKeepTheirPort) {
  FaultPlan plan;
  plan.outgoing.delay = nanoseconds(1);
  auto inner = std::make_unique<ScarceEngine>();
  ScarceEngine& scarce = *inner;
  FaultEngine faulty(std::move(inner), plan);
  TxBatch batch(faulty.batch_limits());
  fill(batch, 0, 5);
  EXPECT_EQ(faulty.lane(0).transmit(batch), 5U) << "the line has them";
  EXPECT_TRUE(eventually([&] {
    faulty.lane(0).receive();
    return faulty.lane(0).has_unsent();
  }));
  faulty.release_source_port(kHere, kFlow.source_port);
  fill(batch, 5, 2);
  EXPECT_EQ(faulty.lane(0).transmit(batch), 0U) << "nothing overtakes them";
  EXPECT_EQ(scarce.released_port, 0U);
  scarce.give_room(kPlenty);
  faulty.lane(0).transmit(batch);
  EXPECT_TRUE(batch.empty());
  EXPECT_TRUE(eventually([&] {
    faulty.lane(0).receive();
    return scarce.taken.size() == 7;
  }));
  EXPECT_EQ(scarce.taken, range(0, 7));
  EXPECT_EQ(scarce.released_port, kFlow.source_port);
}

// Expect: what is left at the end is lost, and counted as a fault.
TEST(NoRoom, AFaultyLineThatEndsCountsWhatItCannotSend) {
  FaultPlan plan;
  plan.outgoing.delay = seconds(10);
  auto inner = std::make_unique<ScarceEngine>(TxBatch::Limits{}, 2);
  FaultEngine faulty(std::move(inner), plan);
  TxBatch batch(faulty.batch_limits());
  fill(batch, 0, 5);
  faulty.lane(0).transmit(batch);
  faulty.leave();
  EXPECT_EQ(faulty.totals().outgoing_faults.lost, 3U);
}

TEST(NoRoom, ACaptureHasEachPacketOnce) {
  std::string directory = testing::TempDir() + "/urxe-no-room-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/a.pcapng";
  auto inner = std::make_unique<ScarceEngine>(TxBatch::Limits{}, 2);
  ScarceEngine& scarce = *inner;
  auto capture = CaptureEngine::open(std::move(inner), path);
  ASSERT_TRUE(capture) << capture.error().what;
  TxBatch batch((*capture)->batch_limits());
  for (uint32_t psn = 0; psn < 10; psn += 5) {
    fill(batch, psn, 5);
    EXPECT_EQ((*capture)->lane(0).transmit(batch), 2U);
    EXPECT_EQ((*capture)->lane(0).transmit(batch), 0U);
    scarce.give_room(3);
    EXPECT_EQ((*capture)->lane(0).transmit(batch), 3U);
    scarce.give_room(2);
  }
  EXPECT_EQ(scarce.taken, range(0, 10));
  const CaptureFile read = read_capture(path);
  EXPECT_EQ(read.error, "");
  EXPECT_EQ(read.frames.size(), 10U);
  unlink(path.c_str());
  rmdir(directory.c_str());
}

/// An engine of several lanes, each of which has another descriptor.
class TwoLanes final : public ForwardingEngine {
 public:
  TwoLanes() : ForwardingEngine(std::make_unique<ScarceEngine>()) {}
  [[nodiscard]] size_t lanes() const override { return 2; }
  [[nodiscard]] EngineLane& lane(size_t index) override {
    return index == 0 ? inner().lane(0) : second;
  }
  ScarceEngine second;
};

TEST(NoRoom, FaultsAndCapturesWrapEveryLane) {
  std::string directory = testing::TempDir() + "/urxe-lanes-XXXXXX";
  ASSERT_NE(mkdtemp(directory.data()), nullptr);
  const std::string path = directory + "/a.pcapng";
  auto two = std::make_unique<TwoLanes>();
  ScarceEngine& second = two->second;
  second.give_room(2);
  auto capture = CaptureEngine::open(std::move(two), path);
  ASSERT_TRUE(capture) << capture.error().what;
  FaultEngine engine(*std::move(capture), {});
  ASSERT_EQ(engine.lanes(), 2U);
  for (size_t lane = 0; lane < 2; ++lane) {
    TxBatch batch(engine.batch_limits(lane));
    fill(batch, 0, 3);
    EXPECT_EQ(engine.lane(lane).transmit(batch), lane == 0 ? 0U : 2U);
  }
  EXPECT_EQ(second.taken, range(0, 2));
  EXPECT_EQ(engine.totals().outgoing_faults.passed, 6U);
  EXPECT_EQ(read_capture(path).frames.size(), 6U);
  unlink(path.c_str());
  rmdir(directory.c_str());
}

TEST(NoRoom, MemoryLosesNothing) {
  const auto network = std::make_shared<MemoryNetwork>();
  MemoryEngine sender(network);
  MemoryEngine full(network, {}, 2);
  MemoryEngine other(network);
  const Gid third = ipv4(10, 0, 0, 3);
  ASSERT_TRUE(sender.open_address(kHere) && full.open_address(kThere) && other.open_address(third));
  EXPECT_TRUE(sender.promises().lossless);
  TxBatch batch(sender.batch_limits());
  fill(batch, 0, 5);
  append(batch, {kHere, third, 0xc000, 0, 64}, send_only(9, 100), 64);
  EXPECT_EQ(sender.transmit(batch), 3U);
  EXPECT_EQ(other.receive().size(), 1U) << "others do not wait";
  EXPECT_TRUE(sender.has_unsent());
  std::vector<uint32_t> got;
  for (int round = 0; round < 3; ++round) {
    for (const RxPacket& packet : full.receive()) {
      got.push_back(keep(packet).headers->bth.psn.value());
    }
    sender.transmit(batch);
  }
  EXPECT_EQ(got, range(0, 5));
  EXPECT_TRUE(batch.empty());
  EXPECT_FALSE(sender.has_unsent());
  EXPECT_EQ(network->lost(), 0U);
}

}  // namespace
}  // namespace urxe::test::no_room_test
