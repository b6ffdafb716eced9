// SPDX-License-Identifier: BSD-2-Clause
// FaultEngine around sockets, as a process's device has it.
#include <gtest/gtest.h>
#include <poll.h>

#include <memory>

#include "packet/engine/fault.h"
#include "packet/engine/udp/udp.h"
#include "packet/engine/udp/udp_socket.h"
#include "packet/host/clock.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/support/frees_seen.h"

namespace urxe::test {
namespace {

constexpr uint16_t kWanted = 0xc123;

struct FaultyPair {
  explicit FaultyPair(const FaultPlan& plan)
      : left(std::make_unique<UdpEngine>(UdpConfig{}), plan), right(UdpConfig{}) {
    const Gid a = own_loopback(1);
    const Gid b = own_loopback(2);
    EXPECT_TRUE(left.open_address(a));
    EXPECT_TRUE(right.open_address(b));
    to_right = {a, b, left.claim_source_port(a, kWanted).value_or(0), 0, 64};
    to_left = {b, a, right.claim_source_port(b, kWanted).value_or(0), 0, 64};
  }
  FaultEngine left;
  UdpEngine right;
  Flow to_right;
  Flow to_left;
};

void send(PacketEngine& from, const Flow& flow, uint32_t first_psn, uint32_t count,
          size_t payload_bytes) {
  TxBatch batch(from.batch_limits());
  for (uint32_t i = 0; i < count; ++i) {
    append(batch, flow, send_only(7, first_psn + i), payload_bytes);
  }
  from.lane(0).transmit(batch);
  EXPECT_TRUE(batch.empty());
}

bool is_readable(const EngineLane& lane) {
  pollfd wait{lane.wait_fd(), POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

/// Whether this process does not have the flow's source port.
bool is_free(const Flow& flow) {
  return find_socket(flow.source, flow.source_port) == -1;
}

TEST(FaultOverUdp, WhatIsOnItsWayArrivesThoughItsPortIsReleased) {
  FaultPlan plan;
  plan.outgoing.delay = milliseconds(1);
  FaultyPair pair(plan);
  send(pair.left, pair.to_right, 0, 1, 64);
  pair.left.release_source_port(pair.to_right.source, pair.to_right.source_port);
  const Instant end = clock_now() + seconds(10);
  std::vector<Received> got;
  while (got.empty() && clock_now() < end) {
    pair.left.lane(0).receive();
    for (const RxPacket& packet : pair.right.receive()) got.push_back(keep(packet));
  }
  ASSERT_EQ(got.size(), 1U);
  EXPECT_TRUE(is_free(pair.to_right)) << "the port was not released";
}

TEST(FaultOverUdp, LaterPacketsDoNotKeepAReleasedPort) {
  FaultPlan plan;
  plan.outgoing.delay = milliseconds(5);
  FaultyPair pair(plan);
  Flow other = pair.to_right;
  other.source_port = pair.left.claim_source_port(other.source, kWanted + 1).value_or(0);
  const Instant sent = clock_now();
  send(pair.left, pair.to_right, 0, 1, 64);
  pair.left.release_source_port(pair.to_right.source, pair.to_right.source_port);
  const bool free_at_once = is_free(pair.to_right);
  // On a busy machine the packet may be due before its port is released.
  const bool in_time = clock_now() < sent + plan.outgoing.delay;
  EXPECT_TRUE(!in_time || !free_at_once);
  const Instant end = clock_now() + seconds(10);
  while (!is_free(pair.to_right) && clock_now() < end) {
    send(pair.left, other, 1, 1, 64);  // something is always on its way
    pair.left.lane(0).receive();
    pair.right.receive();
  }
  EXPECT_TRUE(is_free(pair.to_right));
}

/// Sends packets both ways through the faults.
void exchange_watched(const FaultPlan& plan) {
  FaultyPair pair(plan);
  frees_seen = {};
  TxBatch batch(pair.left.batch_limits());
  for (int round = 0; round < 200; ++round) {
    batch.clear();
    for (uint32_t i = 0; i < 20; ++i) append(batch, pair.to_right, send_only(7, i), 64);
    send(pair.right, pair.to_left, 0, 20, 64);
    watch_frees(see_free);
    pair.left.lane(0).transmit(batch);
    pair.left.lane(0).receive();
    watch_frees(nullptr);
    pair.right.receive();
  }
}

// The defect: the signal handler of ib_atomic_bw -D allocates, and waited for ever if it
// interrupted an allocation. Expect: memory for copies is allocated and freed while signals are
// held back.
TEST(FaultOverUdp, MemoryIsTakenWhileSignalsAreHeldBack) {
  if (!can_fail_allocations()) GTEST_SKIP() << "a sanitizer's operator delete";
  FaultPlan plan;
  plan.outgoing = {.loss = 20000, .duplication = 20000, .reordering = 20000, .corruption = 20000};
  plan.incoming = plan.outgoing;
  exchange_watched(plan);
  EXPECT_GT(frees_seen.all, 0U);
  EXPECT_EQ(frees_seen.open_to_signals, 0U);
  plan.outgoing.delay = plan.incoming.delay = microseconds(200);
  exchange_watched(plan);
  EXPECT_GT(frees_seen.all, 0U);
  EXPECT_EQ(frees_seen.open_to_signals, 0U);
  plan.outgoing = plan.incoming = {.loss = 20000};
  exchange_watched(plan);
  EXPECT_GT(frees_seen.all, 0U);
  EXPECT_EQ(frees_seen.open_to_signals, 0U);
}

TEST(FaultOverUdp, WithoutFaultsAllIsCarriedWhole) {
  FaultyPair pair({});
  send(pair.left, pair.to_right, 0, 200, 1024);
  const auto got = receive_packets(pair.right, 200);
  ASSERT_EQ(got.size(), 200U);
  for (uint32_t psn = 0; psn < 200; ++psn) {
    ASSERT_TRUE(got[psn].headers) << drop_reason_name(got[psn].headers.error());
    EXPECT_EQ(got[psn].payload, pattern(psn, 1024));
  }
}

/// Datagrams that carry `packets` packets of 1,024 bytes, and how many come.
struct Carried {
  uint64_t datagrams;
  std::vector<Received> packets;
};
Carried carry(const FaultPlan& plan, uint32_t packets, size_t expected) {
  const Gid a = own_loopback(3);
  const Gid b = own_loopback(4);
  auto inner = std::make_unique<UdpEngine>(UdpConfig{});
  const UdpEngine& udp = *inner;
  FaultEngine left(std::move(inner), plan);
  UdpEngine right{UdpConfig{}};
  EXPECT_TRUE(left.open_address(a));
  EXPECT_TRUE(right.open_address(b));
  const Flow flow{a, b, left.claim_source_port(a, kWanted).value_or(0), 0, 64};
  send(left, flow, 0, packets, 1024);
  return {udp.counters().tx_datagrams, receive_packets(right, expected)};
}

// Expect: what is measured under a fault that hardly ever happens is the transport, in the same
// datagrams as without.
TEST(FaultOverUdp, KeepsBatchesThatNothingHappensTo) {
  FaultPlan plan;
  const Carried without = carry(plan, 240, 240);
  plan.outgoing = {.loss = 1, .duplication = 1, .reordering = 1, .corruption = 1};
  EXPECT_EQ(carry(plan, 240, 240).datagrams, without.datagrams);
}

TEST(FaultOverUdp, KeepsWhatIsLeftOfABatchTogether) {
  FaultPlan plan;
  plan.outgoing.loss = 20000;
  const Carried carried = carry(plan, 240, 225);
  EXPECT_LT(carried.packets.size(), 240U);
  EXPECT_LT(carried.datagrams, 50U);
  uint32_t last = 0;
  for (const Received& packet : carried.packets) {
    ASSERT_TRUE(packet.headers) << drop_reason_name(packet.headers.error());
    const uint32_t psn = packet.headers->bth.psn.value();
    EXPECT_TRUE(psn > last || psn == 0);
    EXPECT_EQ(packet.payload, pattern(psn, 1024));
    last = psn;
  }
}

// Sockets do not report the IPv4 identification, so the ICRC detects less.
TEST(FaultOverUdp, CorruptedPacketsNeverBringWrongData) {
  FaultPlan plan;
  plan.outgoing.corruption = 1000000;
  plan.incoming.corruption = 1000000;
  FaultyPair pair(plan);
  for (uint32_t psn = 0; psn < 2000; psn += 50) {
    const size_t payload = psn % 4097;
    send(pair.left, pair.to_right, psn, 50, payload);
    send(pair.right, pair.to_left, psn, 50, payload);
    size_t dropped = 0;
    for (EngineLane* to : {&pair.left.lane(0), &pair.right.lane(0)}) {
      const auto got = receive_packets(*to, 50);
      ASSERT_EQ(got.size(), 50U);
      for (uint32_t i = 0; i < 50; ++i) {
        if (!got[i].headers) {
          EXPECT_EQ(got[i].headers.error(), DropReason::kBadIcrc);
          ++dropped;
          continue;
        }
        // Byte 4 of the BTH is not covered.
        EXPECT_EQ(got[i].headers->bth.psn, Psn(psn + i));
        EXPECT_EQ(got[i].headers->bth.dest_qp, Qpn(7));
        EXPECT_EQ(got[i].payload, pattern(psn + i, payload));
      }
    }
    EXPECT_GT(dropped, 50U);
  }
  EXPECT_EQ(pair.left.totals().outgoing_faults.corrupted, 2000U);
  EXPECT_EQ(pair.left.totals().incoming_faults.corrupted, 2000U);
}

TEST(FaultOverUdp, WhatIsHeldBackOnItsWayOutWakesTheSender) {
  FaultPlan plan;
  plan.outgoing.reordering = 1000000;
  FaultyPair pair(plan);
  EXPECT_FALSE(is_readable(pair.left.lane(0)));
  send(pair.left, pair.to_right, 5, 1, 64);
  EXPECT_TRUE(is_readable(pair.left.lane(0)));
  EXPECT_TRUE(pair.left.lane(0).receive().empty());
  EXPECT_FALSE(is_readable(pair.left.lane(0)));
  EXPECT_EQ(receive_packets(pair.right, 1).size(), 1U);
}

TEST(FaultOverUdp, WhatIsDelayedOnItsWayOutWakesTheSenderInTime) {
  FaultPlan plan;
  plan.outgoing.delay = milliseconds(30);
  FaultyPair pair(plan);
  const Instant sent = clock_now();
  send(pair.left, pair.to_right, 5, 2, 64);
  std::vector<Received> got;
  while (got.size() < 2) {
    for (const RxPacket& packet : pair.right.receive()) got.push_back(keep(packet));
    if (!got.empty()) continue;
    pollfd wait{pair.left.lane(0).wait_fd(), POLLIN, 0};
    ASSERT_EQ(poll(&wait, 1, 60000), 1) << "nothing wakes the sender";
    EXPECT_TRUE(pair.left.lane(0).receive().empty());
  }
  EXPECT_GE((clock_now() - sent).ns, plan.outgoing.delay.ns);
  EXPECT_EQ(got[0].payload, pattern(5, 64));
  EXPECT_EQ(got[1].payload, pattern(6, 64));
  EXPECT_FALSE(is_readable(pair.left.lane(0)));
}

TEST(FaultOverUdp, WhatIsDelayedOnItsWayInWakesTheReceiverInTime) {
  FaultPlan plan;
  plan.incoming = {.delay = milliseconds(30), .bits_per_second = 1000000000};
  FaultyPair pair(plan);
  const Instant sent = clock_now();
  send(pair.right, pair.to_left, 5, 3, 64);
  EXPECT_EQ(receive_packets(pair.left.lane(0), 3).size(), 3U);
  EXPECT_GE((clock_now() - sent).ns, plan.incoming.delay.ns);
  EXPECT_TRUE(pair.left.lane(0).receive().empty());
  EXPECT_FALSE(is_readable(pair.left.lane(0)));
}

// Expect: a program that ends does not take along what it has sent.
TEST(FaultOverUdp, WhatIsDelayedArrivesThoughTheSenderLeaves) {
  FaultPlan plan;
  plan.outgoing.delay = seconds(10);
  FaultyPair pair(plan);
  send(pair.left, pair.to_right, 5, 3, 64);
  pair.left.leave();
  EXPECT_EQ(receive_packets(pair.right, 3).size(), 3U);
}

TEST(FaultOverUdp, WhatIsHeldBackOnItsWayInComesWithoutAnother) {
  FaultPlan plan;
  plan.incoming.reordering = 1000000;
  FaultyPair pair(plan);
  send(pair.right, pair.to_left, 5, 3, 64);
  EXPECT_EQ(receive_packets(pair.left.lane(0), 3).size(), 3U);
  EXPECT_TRUE(pair.left.lane(0).receive().empty());
  EXPECT_FALSE(is_readable(pair.left.lane(0)));
}

}  // namespace
}  // namespace urxe::test
