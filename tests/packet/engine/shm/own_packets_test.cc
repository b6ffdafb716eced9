// SPDX-License-Identifier: BSD-2-Clause
// Packets that a process sends to itself.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "packet/engine/udp/send_backlog.h"
#include "tests/packet/engine/shm/shm_fixture.h"
#include "tests/support/failing_allocations.h"

namespace urxe::test {
namespace {

void expect_own_psns(const std::vector<Received>& packets, uint32_t first) {
  for (size_t i = 0; i < packets.size(); ++i) {
    ASSERT_TRUE(packets[i].headers) << "packet " << i;
    ASSERT_EQ(packets[i].headers->bth.psn, Psn(first + static_cast<uint32_t>(i)));
  }
}

TEST_F(TwoShmMembers, SendToThemselvesThroughMemory) {
  flow_.traffic_class = 0x2e;
  flow_.hop_limit = 17;
  send(a_, a_, 7, 3, 100);
  const auto packets = a_.engine->receive();
  ASSERT_EQ(packets.size(), 3U) << "at once";
  std::vector<Received> kept;
  for (const RxPacket& packet : packets) {
    EXPECT_FALSE(packet.has_icrc);
    kept.push_back(keep(packet));
    EXPECT_EQ(kept.back().flow, flow_);
  }
  expect_own_psns(kept, 7);
  EXPECT_EQ(a_.counters().sent_packets, 3U);
  EXPECT_EQ(a_.counters().received_packets, 3U);
  EXPECT_EQ(a_.counters().received_bytes, 3 * (12U + 100 + 4));
}

TEST_F(TwoShmMembers, KeepWhatTheyReceivedFromThemselvesUntilTheNextLook) {
  send(a_, a_, 1);
  const auto packets = a_.engine->receive();
  ASSERT_EQ(packets.size(), 1U);
  send(a_, a_, 2, 50);
  EXPECT_EQ(keep(packets[0]).payload, pattern(1, 16));
  EXPECT_EQ(collect(a_, b_, 50).size(), 50U);
}

TEST_F(TwoShmMembers, LoseNothingOfTheirOwnAndKeepItsOrderIfMemoryIsFull) {
  constexpr uint32_t kPackets = SendBacklog::kMessages + 100;
  for (uint32_t psn = 0; psn < kPackets; ++psn) send(a_, a_, psn);
  EXPECT_EQ(a_.counters().sent_packets, SendBacklog::kMessages) << "the rest goes by UDP";
  std::vector<Received> all;
  uint32_t sent = kPackets;
  EXPECT_TRUE(eventually([&] {
    // There is room again, but the sockets have earlier packets.
    if (sent < kPackets + 10) send(a_, a_, sent++);
    take(a_, all);
    return all.size() == kPackets + 10;
  })) << all.size();
  expect_own_psns(all, 0);
  settle();
  const uint64_t before = a_.counters().sent_packets;
  send(a_, a_, 1);
  EXPECT_EQ(a_.counters().sent_packets, before + 1) << "memory again";
}

TEST_F(TwoShmMembers, HearOthersWhileTheirOwnPacketsComeByUdp) {
  link();
  for (uint32_t psn = 0; psn < SendBacklog::kMessages + 100; ++psn) send(a_, a_, psn);
  constexpr uint32_t kFromOther = 100000;
  send(b_, a_, kFromOther);
  std::vector<Received> first;
  take(a_, first);
  EXPECT_EQ(
      std::ranges::count_if(
          first, [](const Received& packet) { return packet.headers->bth.psn == Psn(kFromOther); }),
      1);
}

TEST_F(TwoShmMembers, WakeTheirOwnThreadThatSleeps) {
  fall_asleep(a_);
  send(a_, a_, 1);  // by another thread
  EXPECT_TRUE(is_readable(a_));
  a_.engine->end_wait();
  EXPECT_EQ(collect(a_, b_, 1).size(), 1U);
  EXPECT_FALSE(is_readable(a_));
}

TEST_F(TwoShmMembers, DoNotSleepWhenPacketsOfTheirOwnWait) {
  send(a_, a_, 1);
  EXPECT_TRUE(a_.engine->begin_wait());
  EXPECT_EQ(collect(a_, b_, 1).size(), 1U);
  EXPECT_FALSE(a_.engine->begin_wait());
  a_.engine->end_wait();
}

// The receiver polls within calls that must not allocate, and serves the other process, too.
TEST_F(TwoShmMembers, TakeABurstOfTheirOwnWithoutMemory) {
  if (!can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  constexpr size_t kBatch = 200;
  constexpr size_t kPackets = 40 * kBatch;
  for (size_t psn = 0; psn < kPackets; psn += kBatch) {
    send(a_, a_, static_cast<uint32_t>(psn), kBatch);
  }
  ASSERT_EQ(a_.counters().sent_packets, kPackets) << "all by memory";
  size_t got = 0;
  fail_allocation(1);
  for (int call = 0; call < 100 && got < kPackets; ++call) {
    got += a_.engine->lane(0).receive().size();
  }
  EXPECT_TRUE(failure_is_due()) << "something was allocated";
  fail_allocation(0);
  EXPECT_EQ(got, kPackets);
}

}  // namespace
}  // namespace urxe::test
