// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/shm/shm.h"

#include <gtest/gtest.h>
#include <poll.h>

#include <thread>
#include <vector>

#include "packet/wire/cm/mad.h"
#include "tests/packet/engine/scarce_engine.h"
#include "tests/packet/engine/shm/shm_fixture.h"
#include "tests/packet/sharing/child_process.h"
#include "tests/support/failing_allocations.h"

namespace urxe::test {
namespace {

void expect_psns(const std::vector<Received>& packets, uint32_t first, size_t payload) {
  for (size_t i = 0; i < packets.size(); ++i) {
    const uint32_t psn = first + static_cast<uint32_t>(i);
    ASSERT_TRUE(packets[i].headers) << "packet " << i;
    ASSERT_EQ(packets[i].headers->bth.psn, Psn(psn)) << "packet " << i;
    ASSERT_EQ(packets[i].payload, pattern(psn, payload)) << "packet " << i;
  }
}

TEST_F(TwoShmMembers, SendThroughMemory) {
  link();
  const ShmCounters before = b_.counters();
  flow_.traffic_class = 0x2e;
  flow_.hop_limit = 17;
  flow_.source_port = kRoceUdpPort;
  send(a_, b_, 1000, 3, 100);
  const auto packets = collect(b_, a_, 3);
  ASSERT_EQ(packets.size(), 3U);
  expect_psns(packets, 1000, 100);
  for (const Received& packet : packets) EXPECT_EQ(packet.flow, flow_);
  EXPECT_EQ(b_.counters().received_packets - before.received_packets, 3U);
  EXPECT_EQ(b_.counters().received_bytes - before.received_bytes, 3 * (12U + 100 + 4));
}

TEST_F(TwoShmMembers, NeedNoIcrcsInMemory) {
  link();
  send(a_, b_, 5, 4, 64);
  size_t packets = 0;
  EXPECT_TRUE(eventually([&] {
    for (const RxPacket& packet : b_.engine->receive()) {
      EXPECT_FALSE(packet.has_icrc);
      EXPECT_TRUE(packet.through_memory);
      EXPECT_TRUE(parse(packet));
      ++packets;
    }
    return packets == 4;
  }));
}

TEST_F(TwoShmMembers, KnowThePacketsIdentifications) {
  // Expect: those that the ICRCs were made with, if the batch has them, so that every bit of these
  // is checked.
  link();
  TxBatch::Limits limits = a_.engine->batch_limits();
  limits.seals = true;
  TxBatch batch(limits);
  for (uint32_t psn = 5; psn < 9; ++psn) append(batch, flow_, send_only(b_.qpn(), psn), 64);
  a_.engine->transmit(batch);
  uint16_t next = 0;
  EXPECT_TRUE(eventually([&] {
    for (const RxPacket& packet : b_.engine->receive()) {
      EXPECT_EQ(packet.ipv4_identification, next++);
      EXPECT_TRUE(packet.has_icrc);
      EXPECT_TRUE(parse(packet));
    }
    return next == 4;
  }));
}

// Each look at the inner engine is a system call. Expect: none, or next to none, while packets come
// through memory and nothing else comes; and what does come by UDP is not left there.
TEST_F(TwoShmMembers, LookAtSocketsRarely) {
  link();
  std::vector<Received> packets;
  constexpr uint32_t kPackets = 2000;
  const auto exchange = [&](uint32_t psn) {
    const size_t before = packets.size();
    send(b_, a_, psn);
    EXPECT_TRUE(eventually([&] {
      take(a_, packets);
      return packets.size() > before;
    }));
  };
  for (uint32_t psn = 0; psn < kPackets; ++psn) exchange(psn);  // until it is known that few come
  const size_t looks_before = a_.counting->looks;
  for (uint32_t psn = 0; psn < kPackets; ++psn) exchange(psn);
  EXPECT_LT(a_.counting->looks - looks_before, kPackets / 256);

  packets.clear();
  TxBatch batch(a_.engine->batch_limits());
  append(batch, flow_, send_only(a_.qpn(), 1), 16);
  a_.engine->transmit(batch);  // to itself: by UDP
  for (uint32_t psn = 100; psn < 200; ++psn) exchange(psn);
  std::vector<Received> forwarded;
  EXPECT_TRUE(eventually([&] {
    take(b_, forwarded);  // the kernel may have given it to this one
    take(a_, packets);
    return packets.size() == 101;
  }));
}

TEST_F(TwoShmMembers, KeepTheOrderWhenMemoryTakesOver) {
  std::vector<Received> packets;
  uint32_t sent = 0;
  std::vector<Received> dropped;
  EXPECT_TRUE(eventually([&] {
    send(a_, b_, sent++);
    // B falls behind, so that its socket holds packets when the first one comes through memory.
    if (sent % 16 == 0) take(b_, packets);
    take(a_, dropped);
    return a_.counters().sent_packets > 50;
  }));
  EXPECT_TRUE(eventually([&] {
    take(b_, packets);
    return packets.size() >= sent;
  }));
  EXPECT_LT(a_.counters().sent_packets, sent) << "some were to go by UDP";
  expect_psns(packets, 0, 16);
}

TEST_F(TwoShmMembers, PromiseIntegrityAndOtherwiseWhatUdpDoes) {
  const EnginePromises udp = a_.counting->promises();
  const EnginePromises promises = a_.engine->promises();
  EXPECT_FALSE(udp.integrity);
  EXPECT_TRUE(promises.integrity);
  EXPECT_EQ(promises.segments_per_message, udp.segments_per_message);
  EXPECT_EQ(promises.receive_buffer, udp.receive_buffer);
  EXPECT_FALSE(promises.lossless) << "UDP carries some packets";
  EXPECT_FALSE(a_.engine->batch_limits().seals);
}

TEST_F(TwoShmMembers, AFullRingLosesNothing) {
  link();
  const size_t bytes_before = a_.counters().sent_bytes;
  constexpr size_t kPayload = 4096;
  constexpr size_t kCount = 400;  // 1.6 MiB
  for (uint32_t psn = 0; psn < kCount; psn += 10) send(a_, b_, psn, 10, kPayload);
  EXPECT_LT(a_.counters().sent_bytes - bytes_before, kCount * kPayload);
  EXPECT_GT(a_.counters().delayed, 0U);
  const auto packets = collect(b_, a_, kCount);
  ASSERT_EQ(packets.size(), kCount);
  expect_psns(packets, 0, kPayload);
  EXPECT_EQ(a_.counters().backlog_lost, 0U);
}

/// Members that take another one for stopped at once.
class ImpatientShmMembers : public TwoShmMembers {
 protected:
  ImpatientShmMembers() : TwoShmMembers(ShmConfig{}.last_wait, nanoseconds(-1)) {}
};

TEST_F(ImpatientShmMembers, WhatAPeerNeverTakesIsLostAndCounted) {
  link();
  constexpr size_t kPayload = 4096;
  constexpr size_t kCount = 1000;  // 4 MiB
  for (uint32_t psn = 0; psn < kCount; psn += 10) send(a_, b_, psn, 10, kPayload);
  const uint64_t lost = a_.counters().backlog_lost;
  EXPECT_GT(lost, 0U);
  EXPECT_EQ(a_.engine->totals().send_lost, lost);
  const auto packets = collect(b_, a_, kCount - lost);
  EXPECT_EQ(packets.size(), kCount - lost);
  expect_psns(packets, 0, kPayload);
}

/// Members that wait for each other when they leave, however crowded the machine is.
class PatientShmMembers : public TwoShmMembers {
 protected:
  PatientShmMembers() : TwoShmMembers(seconds(300), seconds(300)) {}

  /// Sends to B until there is no room. Returns the PSN after the last.
  uint32_t fill(TxBatch& batch) {
    uint32_t psn = 0;
    while (batch.empty()) {
      for (int i = 0; i < 10; ++i) append(batch, flow_, send_only(b_.qpn(), psn++), kPayload);
      a_.engine->transmit(batch);
    }
    return psn;
  }

  static constexpr size_t kPayload = 4096;
};

// Expect: what has no room stays with the caller, in order, and goes when the peer takes something.
TEST_F(PatientShmMembers, WhatFindsNoRoomStaysInTheBatch) {
  link();
  TxBatch batch(a_.engine->batch_limits());
  const uint32_t count = fill(batch);
  EXPECT_GT(count * kPayload, size_t{3} << 19) << "the ring and the backlog are full";
  const size_t left = batch.packets();
  EXPECT_EQ(a_.engine->transmit(batch), 0U);
  EXPECT_EQ(batch.packets(), left);
  std::vector<Received> packets;
  std::vector<Received> none;
  EXPECT_TRUE(eventually([&] {
    take(b_, packets);
    a_.engine->transmit(batch);
    take(a_, none);
    return packets.size() >= count;
  }));
  EXPECT_TRUE(batch.empty());
  ASSERT_EQ(packets.size(), count);
  expect_psns(packets, 0, kPayload);
  EXPECT_EQ(a_.engine->totals().send_lost, 0U);
}

// Expect: neither what goes by UDP nor what goes to itself waits for a peer without room.
TEST_F(PatientShmMembers, AFullLinkHoldsUpItsOwnPacketsOnly) {
  link();
  TxBatch batch(a_.engine->batch_limits());
  fill(batch);
  const uint32_t waits = psns_of(batch).at(0);
  std::vector<Received> taken;
  while (!batch.empty()) {  // make room for the rest of this batch, and fill the link again
    take(b_, taken);
    a_.engine->transmit(batch);
  }
  do {
    append(batch, flow_, send_only(b_.qpn(), waits), kPayload);
    append(batch, flow_, send_only(a_.qpn(), 7), 16);
    append(batch, flow_, send_only(b_.qpn(), waits + 1), kPayload);
    a_.engine->transmit(batch);
  } while (batch.empty());
  EXPECT_EQ(psns_of(batch).back(), waits + 1);
  for (const uint32_t psn : psns_of(batch)) EXPECT_NE(psn, 7U);
}

TEST_F(PatientShmMembers, WakeOneWhoseBatchWaits) {
  link();
  TxBatch batch(a_.engine->batch_limits());
  fill(batch);
  fall_asleep(a_);
  std::vector<Received> packets;
  EXPECT_TRUE(eventually([&] {
    take(b_, packets);
    return is_readable(a_);
  }));
  a_.engine->end_wait();
  EXPECT_TRUE(eventually([&] {
    take(a_, packets);
    take(b_, packets);
    return a_.engine->transmit(batch) > 0;
  }));
}

// Packets wait for room when their sender leaves. Expect: the peer gets them if it takes what
// comes.
TEST_F(PatientShmMembers, OneThatLeavesSendsTheRest) {
  link();
  constexpr size_t kCount = 400;  // 1.6 MiB
  for (uint32_t psn = 0; psn < kCount; psn += 10) send(a_, b_, psn, 10, kPayload);
  ASSERT_GT(a_.counters().delayed, 0U);
  std::thread leaver([this] { a_.engine->leave(); });
  std::vector<Received> packets;
  EXPECT_TRUE(eventually([&] {
    take(b_, packets);
    return packets.size() >= kCount;
  }));
  leaver.join();
  ASSERT_EQ(packets.size(), kCount);
  expect_psns(packets, 0, kPayload);
}

TEST_F(TwoShmMembers, BothCanAskAtOnce) {
  // Expect: one link, which carries packets both ways.
  send(a_, b_, 0);
  send(b_, a_, 0);
  link();
  send(a_, b_, 100);
  send(b_, a_, 200);
  expect_psns(collect(b_, a_, 1), 100, 16);
  EXPECT_GT(a_.counters().received_packets, 0U);
  EXPECT_EQ(a_.counters().broken_links + b_.counters().broken_links, 0U);
}

TEST_F(TwoShmMembers, SendTheRestByUdp) {
  link();
  const uint64_t before = a_.counters().sent_packets;
  const uint64_t inner_before = a_.engine->totals().send_lost;
  const auto send_to = [&](uint32_t qpn, const Flow& flow) {
    TxBatch batch(a_.engine->batch_limits());
    append(batch, flow, send_only(qpn, 1), 16);
    a_.engine->transmit(batch);
  };
  send_to(kGsiQpn.value(), flow_);
  Flow elsewhere = flow_;
  elsewhere.destination = own_loopback(41);  // B does not have it
  send_to(b_.qpn(), elsewhere);
  Flow group = flow_;
  group.destination = ipv4(224, 1, 2, 3);
  send_to(b_.qpn(), group);
  EXPECT_EQ(a_.counters().sent_packets, before);
  EXPECT_EQ(a_.engine->totals().send_lost, inner_before) << "they were sent";
  settle();
}

TEST_F(TwoShmMembers, MixedBatchesGoBothWays) {
  link();
  const uint64_t before = b_.counters().received_packets;
  TxBatch batch(a_.engine->batch_limits());
  for (uint32_t psn = 0; psn < 8; ++psn) {
    append(batch, flow_, send_only(psn % 2 == 0 ? a_.qpn() : b_.qpn(), psn), 16);
  }
  a_.engine->transmit(batch);
  std::vector<Received> to_a;
  std::vector<Received> to_b;
  EXPECT_TRUE(eventually([&] {
    take(a_, to_a);
    take(b_, to_b);
    return to_a.size() == 4 && to_b.size() == 4;
  }));
  EXPECT_EQ(b_.counters().received_packets - before, 4U);
  for (const Received& packet : to_a) EXPECT_EQ(packet.headers->bth.dest_qp, Qpn(a_.qpn()));
  for (const Received& packet : to_b) EXPECT_EQ(packet.headers->bth.dest_qp, Qpn(b_.qpn()));
}

TEST_F(TwoShmMembers, TellEachOtherOfAddressesThatComeLater) {
  link();
  const Gid later = own_loopback(42);
  ASSERT_TRUE(b_.engine->open_address(later));
  settle();
  const uint64_t before = a_.counters().sent_packets;
  flow_.destination = later;
  send(a_, b_, 7);
  EXPECT_EQ(a_.counters().sent_packets, before + 1);
  const auto packets = collect(b_, a_, 1);
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].flow.destination, later);
}

// An address that this host has lost may be another host's, whose process has the same slot.
// The defect: what was sent there went to a process of this host, for good.
TEST_F(TwoShmMembers, SendNothingThroughMemoryToAnAddressThatWasClosed) {
  link();
  const Gid moved = own_loopback(43);
  ASSERT_TRUE(a_.engine->open_address(moved));
  ASSERT_TRUE(b_.engine->open_address(moved));
  settle();
  flow_.destination = moved;
  send(a_, b_, 1);
  EXPECT_EQ(collect(b_, a_, 1).size(), 1U);
  const uint64_t before = a_.counters().sent_packets;
  a_.engine->close_address(moved);
  send(a_, b_, 2);
  EXPECT_EQ(a_.counters().sent_packets, before);
  ASSERT_TRUE(a_.engine->open_address(moved));
  send(a_, b_, 3);
  EXPECT_EQ(a_.counters().sent_packets, before + 1) << "it has come back";
}

// As a program's that lives for months does, whose host has a new temporary address every day.
// The defect: memory carried packets of the first 64 addresses only.
TEST_F(TwoShmMembers, ForgetClosedAddressesAsNewOnesCome) {
  link();
  const auto address = [](uint32_t i) { return own_loopback(static_cast<uint8_t>(100 + i)); };
  for (uint32_t i = 0; i < 2 * LinkEnd::kAddresses; ++i) {
    for (ShmMember* member : {&a_, &b_}) {
      ASSERT_TRUE(member->engine->open_address(address(i)));
      if (i > 0) member->engine->close_address(address(i - 1));
    }
  }
  settle();
  flow_.destination = address(2 * LinkEnd::kAddresses - 1);
  EXPECT_TRUE(eventually([&] {
    const uint64_t before = a_.counters().sent_packets;
    send(a_, b_, 0);
    settle_briefly();
    return a_.counters().sent_packets > before;
  }));
  settle();
  send(a_, b_, 1);
  const auto packets = collect(b_, a_, 1);
  ASSERT_EQ(packets.size(), 1U);
  EXPECT_EQ(packets[0].flow.destination, flow_.destination);
}

// Nothing that the other process has sent is lost with the link.
TEST_F(TwoShmMembers, ReadTheRestOfALinkThatBeginsAnew) {
  link();
  const Gid closed = own_loopback(99);
  ASSERT_TRUE(a_.engine->open_address(closed));
  a_.engine->close_address(closed);
  flow_.destination = own_loopback(98);
  ASSERT_TRUE(a_.engine->open_address(flow_.destination));
  const uint64_t before = b_.counters().sent_packets;
  send(b_, a_, 1, 20);
  EXPECT_EQ(b_.counters().sent_packets, before + 20);
  for (uint32_t i = 0; i <= LinkEnd::kAddresses; ++i) {
    ASSERT_TRUE(a_.engine->open_address(own_loopback(static_cast<uint8_t>(100 + i))));
  }
  const auto packets = collect(a_, b_, 20);
  EXPECT_EQ(packets.size(), 20U);
  for (const Received& packet : packets) EXPECT_EQ(packet.flow.destination, flow_.destination);
}

TEST_F(TwoShmMembers, WakeOneThatSleeps) {
  link();
  fall_asleep(b_);
  send(a_, b_, 1);
  send(a_, b_, 2);
  EXPECT_TRUE(is_readable(b_));
  EXPECT_EQ(a_.counters().wakeups, 1U) << "once is enough";
  b_.engine->end_wait();
  EXPECT_FALSE(is_readable(b_));
  EXPECT_EQ(collect(b_, a_, 2).size(), 2U);
}

TEST_F(TwoShmMembers, DoNotWakeOneThatIsAwake) {
  link();
  const uint64_t before = a_.counters().wakeups;
  send(a_, b_, 1);
  EXPECT_EQ(collect(b_, a_, 1).size(), 1U);
  EXPECT_EQ(a_.counters().wakeups, before);
  EXPECT_FALSE(is_readable(b_));
}

TEST_F(TwoShmMembers, DoNotSleepWhenSomethingIsThere) {
  link();
  send(a_, b_, 1);
  EXPECT_TRUE(b_.engine->begin_wait());
  EXPECT_EQ(collect(b_, a_, 1).size(), 1U);
  EXPECT_FALSE(b_.engine->begin_wait());
  b_.engine->end_wait();
}

TEST_F(TwoShmMembers, WakeOneThatWaitsForRoom) {
  link();
  for (uint32_t psn = 0; psn < 300; psn += 10) send(a_, b_, psn, 10, 4096);
  ASSERT_GT(a_.counters().delayed, 0U);
  fall_asleep(a_);
  std::vector<Received> packets;
  EXPECT_TRUE(eventually([&] {
    take(b_, packets);
    return is_readable(a_);
  }));
  a_.engine->end_wait();
  EXPECT_TRUE(eventually([&] {
    take(b_, packets);
    std::vector<Received> dropped;
    take(a_, dropped);
    return packets.size() == 300;
  }));
}

TEST_F(TwoShmMembers, WakeOneWhoseOtherThreadFoundNoRoom) {
  link();
  ASSERT_FALSE(a_.engine->begin_wait());
  for (uint32_t psn = 0; psn < 300; psn += 10) send(a_, b_, psn, 10, 4096);
  ASSERT_GT(a_.counters().delayed, 0U);
  std::vector<Received> packets;
  EXPECT_TRUE(eventually([&] {
    take(b_, packets);
    return is_readable(a_);
  }));
  a_.engine->end_wait();
}

TEST_F(TwoShmMembers, ReadTheRestOfOneThatHasEnded) {
  link();
  send(a_, b_, 10, 20, 1000);
  a_.engine.reset();
  std::vector<Received> packets;
  EXPECT_TRUE(eventually([&] {
    take(b_, packets);
    return packets.size() == 20;
  }));
  expect_psns(packets, 10, 1000);
}

TEST_F(TwoShmMembers, GoBackToUdpWhenOneHasEnded) {
  link();
  b_.engine.reset();
  uint64_t before = 0;
  EXPECT_TRUE(eventually([&] {
    before = a_.counters().sent_packets;
    send(a_, b_, 1);
    std::vector<Received> dropped;
    for (int i = 0; i < 200; ++i) take(a_, dropped);
    return a_.counters().sent_packets == before;
  }));
}

TEST_F(TwoShmMembers, NoticeTheEndWhileTheySleep) {
  link();
  fall_asleep(a_);
  b_.engine.reset();
  EXPECT_TRUE(is_readable(a_));
  a_.engine->end_wait();
  std::vector<Received> dropped;
  for (int i = 0; i < 200; ++i) take(a_, dropped);
  EXPECT_FALSE(is_readable(a_));
}

TEST_F(TwoShmMembers, LinkWithTheNextOwnerOfTheSlot) {
  link();
  b_.engine.reset();
  UdpConfig config;
  config.sharing = &b_.sharing;
  b_.engine =
      std::make_unique<ShmEngine>(std::make_unique<UdpEngine>(config), ShmConfig{.slot = &b_.slot});
  ASSERT_TRUE(b_.engine->open_address(address_));
  ASSERT_TRUE(b_.engine->claim_source_port(address_, 0xc000));
  const uint64_t before = a_.counters().sent_packets;
  EXPECT_TRUE(eventually([&] {
    send(a_, b_, 1);
    send(b_, a_, 1);
    settle_briefly();
    return a_.counters().sent_packets > before + 10 && b_.counters().received_packets > 0;
  }));
}

TEST_F(TwoShmMembers, AForkedChildLeavesTheLinkAlone) {
  link();
  ChildProcess child([&](int) {
    a_.engine->abandon();
    a_.engine.reset();
  });
  child.wait();
  send(a_, b_, 3);
  expect_psns(collect(b_, a_, 1), 3, 16);
  send(b_, a_, 4);
  expect_psns(collect(a_, b_, 1), 4, 16);
  EXPECT_FALSE(a_.engine->begin_wait());
  send(b_, a_, 5);
  EXPECT_TRUE(is_readable(a_)) << "the child has not changed what is watched";
  a_.engine->end_wait();
}

// Whoever polls in a signal's handler, or next to one that allocates, would wait for ever. Expect:
// a burst of any size needs no memory; the ring keeps what one call does not take.
TEST_F(TwoShmMembers, ABurstIsTakenWithoutMemory) {
  if (!can_fail_allocations()) GTEST_SKIP() << "the sanitizer has its own operator new";
  constexpr size_t kBatch = 200;
  constexpr size_t kPackets = 20 * kBatch;
  link();
  for (size_t psn = 0; psn < kPackets; psn += kBatch) {
    send(a_, b_, static_cast<uint32_t>(psn), kBatch);
  }
  size_t got = 0;
  fail_allocation(1);
  for (int call = 0; call < 10000 && got < kPackets; ++call) {
    got += b_.engine->lane(0).receive().size();
  }
  EXPECT_TRUE(failure_is_due()) << "something was allocated";
  fail_allocation(0);
  EXPECT_EQ(got, kPackets);
}

}  // namespace
}  // namespace urxe::test
