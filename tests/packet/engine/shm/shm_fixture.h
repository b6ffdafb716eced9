// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <gtest/gtest.h>
#include <poll.h>

#include <memory>
#include <utility>
#include <vector>

#include "packet/engine/forwarding_engine.h"
#include "packet/engine/shm/shm.h"
#include "packet/engine/udp/udp.h"
#include "packet/sharing/address_sharing.h"
#include "packet/sharing/slots/slots.h"
#include "tests/packet/engine/engine_fixture.h"

namespace urxe::test {

/// Counts the looks at the engine that it wraps.
class CountingEngine final : public ForwardingEngine, public ForwardingLane {
 public:
  explicit CountingEngine(std::unique_ptr<PacketEngine> inner)
      : ForwardingEngine(std::move(inner)), ForwardingLane(ForwardingEngine::inner().lane(0)) {}
  [[nodiscard]] EngineLane& lane(size_t /*index*/) override { return *this; }
  std::span<const RxPacket> receive() override {
    ++looks;
    return inner_lane().receive();
  }
  size_t looks = 0;
};

/// What a process has, as far as packets are concerned. Several of them in one process are as
/// several processes.
struct ShmMember {
  explicit ShmMember(Duration last_wait = ShmConfig{}.last_wait,
                     Duration patience = ShmConfig{}.patience)
      : slot(Slot::acquire().value()), sharing(slot, 0) {
    UdpConfig config;
    config.sharing = &sharing;
    auto inner = std::make_unique<CountingEngine>(std::make_unique<UdpEngine>(config));
    counting = inner.get();
    engine =
        std::make_unique<ShmEngine>(std::move(inner), ShmConfig{&slot, 0, last_wait, patience});
  }
  [[nodiscard]] uint32_t qpn(uint32_t index = 5) const {
    return make_qpn(slot.number(), index).value();
  }
  [[nodiscard]] const ShmCounters& counters() const { return engine->counters(); }

  Slot slot;
  AddressSharing sharing;
  std::unique_ptr<ShmEngine> engine;
  CountingEngine* counting = nullptr;  ///< the inner engine
};

/// Appends what the engine receives now to `to`. Returns whether that was anything.
inline bool take(ShmMember& member, std::vector<Received>& to) {
  const auto packets = member.engine->receive();
  for (const RxPacket& packet : packets) to.push_back(keep(packet));
  return !packets.empty();
}

inline bool is_readable(const ShmMember& member) {
  pollfd wait{member.engine->wait_fd(), POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

/// Waits until none has anything left to do: no packet, and no search for the order of the sockets,
/// during which packets may be forwarded and come late.
inline void settle(const std::vector<ShmMember*>& members) {
  std::vector<pollfd> wait;
  for (const ShmMember* member : members) wait.push_back({member->engine->wait_fd(), POLLIN, 0});
  int quiet = 0;
  std::vector<Received> dropped;
  EXPECT_TRUE(eventually([&] {
    bool any = false;
    for (int looks = 0; looks < 100; ++looks) {
      for (ShmMember* member : members) any = take(*member, dropped) || any;
    }
    const bool something_comes = poll(wait.data(), wait.size(), 5) != 0;
    quiet = any || something_comes ? 0 : quiet + 1;
    return quiet > 3;
  }));
}

/// Begins to wait, once nothing more comes. Without a network namespace of its own, a test's
/// members sometimes hear from other programs.
inline void fall_asleep(ShmMember& member) {
  std::vector<Received> dropped;
  EXPECT_TRUE(eventually([&] {
    take(member, dropped);
    if (member.engine->begin_wait()) return false;
    if (!is_readable(member)) return true;
    member.engine->end_wait();
    return false;
  }));
}

/// Two members on one address. Each acts only when the test calls it.
class TwoShmMembers : public ::testing::Test {
 protected:
  explicit TwoShmMembers(Duration last_wait = ShmConfig{}.last_wait,
                         Duration patience = ShmConfig{}.patience)
      : a_(last_wait, patience), b_(last_wait, patience) {}
  void SetUp() override {
    for (ShmMember* member : {&a_, &b_}) {
      ASSERT_TRUE(member->engine->open_address(address_));
      port_ = member->engine->claim_source_port(address_, 0xc000).value();
    }
    settle();
  }
  void settle() { test::settle({&a_, &b_}); }
  /// Sends `count` packets with ascending PSNs in one batch.
  void send(ShmMember& from, const ShmMember& to, uint32_t psn, size_t count = 1,
            size_t payload = 16) {
    TxBatch batch(from.engine->batch_limits());
    for (size_t i = 0; i < count; ++i) {
      append(batch, flow_, send_only(to.qpn(), psn + static_cast<uint32_t>(i)), payload);
    }
    from.engine->transmit(batch);
    EXPECT_TRUE(batch.empty());
  }
  /// Sends packets to and fro until they go through memory both ways.
  void link() {
    uint32_t psn = 0;
    EXPECT_TRUE(eventually([&] {
      send(a_, b_, psn);
      send(b_, a_, psn++);
      settle_briefly();
      return a_.counters().sent_packets > 0 && b_.counters().sent_packets > 0;
    }));
    settle();
  }
  void settle_briefly() {
    std::vector<Received> dropped;
    for (int i = 0; i < 200; ++i) {
      take(a_, dropped);
      take(b_, dropped);
    }
  }
  /// Receives until `count` packets have come; the other member acts as well.
  std::vector<Received> collect(ShmMember& to, ShmMember& other, size_t count) {
    std::vector<Received> all;
    std::vector<Received> dropped;
    EXPECT_TRUE(eventually([&] {
      take(to, all);
      take(other, dropped);
      return all.size() >= count;
    })) << "only "
        << all.size() << " of " << count;
    return all;
  }

  const Gid address_ = own_loopback(40);
  ShmMember a_;
  ShmMember b_;
  uint16_t port_ = 0;
  Flow flow_{address_, address_, 0xc000, 0, 64};
};

}  // namespace urxe::test
