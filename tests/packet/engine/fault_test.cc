// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/fault.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

#include "packet/engine/fault_line.h"
#include "packet/engine/memory/memory.h"
#include "tests/packet/engine/engine_fixture.h"

namespace urxe::test {
namespace {

const Gid kLeft = ipv4(10, 0, 0, 1);
const Gid kRight = ipv4(10, 0, 0, 2);
constexpr uint32_t kPackets = 2000;

struct Line {
  explicit Line(const FaultPlan& plan, const TxBatch::Limits& limits = {})
      : left(std::make_unique<MemoryEngine>(network, limits), plan), right(network) {
    EXPECT_TRUE(left.open_address(kLeft));
    EXPECT_TRUE(right.open_address(kRight));
  }
  std::shared_ptr<MemoryNetwork> network = std::make_shared<MemoryNetwork>();
  FaultEngine left;
  MemoryEngine right;
};

void send(PacketEngine& from, const Flow& flow, const TxBatch::Limits& limits) {
  TxBatch batch(limits);
  for (uint32_t psn = 0; psn < kPackets; ++psn) {
    if (batch.packets() == batch.limits().packets) from.lane(0).transmit(batch);
    append(batch, flow, send_only(9, psn), 32);
  }
  from.lane(0).transmit(batch);
}

void send(PacketEngine& from, const Flow& flow) {
  send(from, flow, from.batch_limits());
}

/// Receives until nothing waits.
std::vector<Received> drain(EngineLane& lane) {
  std::vector<Received> all;
  for (auto packets = lane.receive(); !packets.empty(); packets = lane.receive()) {
    for (const RxPacket& packet : packets) all.push_back(keep(packet));
  }
  return all;
}

std::vector<uint32_t> psns(const std::vector<Received>& packets) {
  std::vector<uint32_t> result;
  for (const Received& p : packets) {
    if (p.headers) result.push_back(p.headers->bth.psn.value());
  }
  return result;
}

std::vector<Received> carry(const FaultPlan& plan, bool incoming) {
  Line line(plan);
  if (incoming) {
    send(line.right, {kRight, kLeft, 0xc000, 0, 64});
    return drain(line.left.lane(0));
  }
  send(line.left, {kLeft, kRight, 0xc000, 0, 64});
  line.left.lane(0).receive();  // sends packets that were held back
  return drain(line.right);
}

FaultPlan plan_of(bool incoming, const FaultRates& rates, uint64_t seed = 7) {
  FaultPlan plan;
  plan.seed = seed;
  (incoming ? plan.incoming : plan.outgoing) = rates;
  return plan;
}

class EachDirection : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(Fault, EachDirection, ::testing::Bool(), [](const auto& direction) {
  return direction.param ? "Incoming" : "Outgoing";
});

TEST_P(EachDirection, WithoutFaultsAllComesInOrder) {
  const auto got = psns(carry({}, GetParam()));
  ASSERT_EQ(got.size(), kPackets);
  EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
}

TEST_P(EachDirection, Loses) {
  const auto got = psns(carry(plan_of(GetParam(), {.loss = 100000}), GetParam()));
  EXPECT_GT(got.size(), kPackets * 8 / 10);
  EXPECT_LT(got.size(), kPackets * 97 / 100);
  EXPECT_TRUE(std::is_sorted(got.begin(), got.end()));
}

TEST_P(EachDirection, Duplicates) {
  const auto got = psns(carry(plan_of(GetParam(), {.duplication = 100000}), GetParam()));
  EXPECT_GT(got.size(), kPackets);
  EXPECT_EQ(std::set(got.begin(), got.end()).size(), kPackets);
}

TEST_P(EachDirection, ReordersAndLosesNothing) {
  const auto got = psns(carry(plan_of(GetParam(), {.reordering = 100000}), GetParam()));
  ASSERT_EQ(got.size(), kPackets);
  EXPECT_EQ(std::set(got.begin(), got.end()).size(), kPackets);
  EXPECT_FALSE(std::is_sorted(got.begin(), got.end()));
}

TEST_P(EachDirection, CorruptsAndTheIcrcShowsIt) {
  const auto got = carry(plan_of(GetParam(), {.corruption = 100000}), GetParam());
  ASSERT_EQ(got.size(), kPackets);
  size_t changed = 0;
  for (uint32_t i = 0; i < kPackets; ++i) {
    // The ICRC does not cover byte 4 of the BTH: a flip there passes, as on the wire.
    if (!got[i].headers || got[i].payload != pattern(i, 32)) ++changed;
  }
  EXPECT_GT(changed, kPackets * 3 / 100);
  EXPECT_LT(changed, kPackets * 2 / 10);
  for (uint32_t i = 0; i < kPackets; ++i) {
    if (!got[i].headers) continue;
    EXPECT_EQ(got[i].payload, pattern(i, 32));
  }
}

TEST(Fault, WhatIsOnItsWayArrivesThoughItsSenderEnds) {
  for (const FaultRates& rates :
       {FaultRates{.delay = seconds(10)}, FaultRates{.bits_per_second = 1000},
        FaultRates{.reordering = 1000000}}) {
    auto line = std::make_unique<Line>(plan_of(false, rates));
    const auto network = line->network;
    MemoryEngine peer(network);
    const Gid address = ipv4(10, 0, 0, 3);
    ASSERT_TRUE(peer.open_address(address));
    TxBatch batch(line->left.batch_limits());
    append(batch, {kLeft, address, 0xc000, 0, 64}, send_only(9, 1), 32);
    line->left.lane(0).transmit(batch);
    EXPECT_TRUE(drain(peer).empty());
    line.reset();
    EXPECT_EQ(psns(drain(peer)), std::vector<uint32_t>{1});
  }
}

TEST(Fault, AForkedChildSendsNothingOfItsParents) {
  Line line(plan_of(false, {.delay = seconds(10)}));
  TxBatch batch(line.left.batch_limits());
  append(batch, {kLeft, kRight, 0xc000, 0, 64}, send_only(9, 1), 32);
  line.left.lane(0).transmit(batch);
  line.left.abandon();
  line.left.leave();
  EXPECT_TRUE(drain(line.right).empty());
}

TEST(Fault, CorruptsWhatComesWithoutIcrc) {
  TxBatch::Limits unsealed;
  unsealed.seals = false;
  Line line(plan_of(true, {.corruption = 1000000}), unsealed);
  send(line.right, {kRight, kLeft, 0xc000, 0, 64}, unsealed);
  const auto got = drain(line.left.lane(0));
  ASSERT_EQ(got.size(), kPackets);
  for (uint32_t i = 0; i < kPackets; ++i) {
    if (!got[i].headers) continue;
    ASSERT_EQ(got[i].payload, pattern(i, 32)) << "no ICRC covers the bit";
  }
  EXPECT_GT(std::ranges::count_if(got, [](const auto& p) { return !p.headers; }),
            kPackets * 9 / 10);
}

TEST(Fault, CorruptsWhatGoesOutWithoutIcrc) {
  TxBatch::Limits unsealed;
  unsealed.seals = false;
  Line line(plan_of(false, {.corruption = 1000000}), unsealed);
  send(line.left, {kLeft, kRight, 0xc000, 0, 64});
  const auto got = drain(line.right);
  ASSERT_EQ(got.size(), kPackets);
  EXPECT_GT(std::ranges::count_if(got, [](const auto& p) { return !p.headers; }),
            kPackets * 9 / 10);
}

TEST_P(EachDirection, OneOfTwoDuplicatesIsWhole) {
  const auto got =
      carry(plan_of(GetParam(), {.duplication = 1000000, .corruption = 1000000}), GetParam());
  ASSERT_EQ(got.size(), 2 * kPackets);
  for (uint32_t i = 0; i < kPackets; ++i) {
    ASSERT_TRUE(got[2 * i].headers);
    EXPECT_EQ(got[2 * i].payload, pattern(i, 32));
  }
}

TEST_P(EachDirection, TheSeedDecides) {
  const FaultRates rates{20000, 20000, 20000, 20000};
  const auto one = psns(carry(plan_of(GetParam(), rates, 1), GetParam()));
  EXPECT_EQ(psns(carry(plan_of(GetParam(), rates, 1), GetParam())), one);
  EXPECT_NE(psns(carry(plan_of(GetParam(), rates, 2), GetParam())), one);
}

/// The defect: a flip in resv8a of the BTH leaves the ICRC right, and nobody notices.
TEST(FaultLine, CorruptionTouchesEveryByteThatTheIcrcProtectsAndNoOther) {
  constexpr size_t kSize = 20;
  FaultRates rates;
  rates.corruption = 1'000'000;
  FaultLine line(1, rates);
  std::set<uint64_t> bytes;
  for (int i = 0; i < 10000; ++i) bytes.insert(*line.draw(kSize).flipped_bit / 8);
  EXPECT_FALSE(bytes.contains(4));
  EXPECT_EQ(bytes.size(), kSize - 1);
  EXPECT_EQ(*bytes.rbegin(), kSize - 1);
}

}  // namespace
}  // namespace urxe::test
