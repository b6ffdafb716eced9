// SPDX-License-Identifier: BSD-2-Clause
#include <gtest/gtest.h>
#include <net/if.h>
#include <poll.h>

#include "packet/engine/fault.h"
#include "packet/engine/memory/memory.h"
#include "packet/engine/udp/udp.h"
#include "packet/sharing/slots/slots.h"
#include "packet/wire/types.h"
#include "tests/packet/engine/engine_fixture.h"
#include "tests/packet/sharing/child_process.h"

namespace urxe::test {
namespace {

/// A group that no test running at the same time has.
Gid own_group(uint8_t last) {
  const auto pid = static_cast<uint32_t>(getpid());
  return ipv4(239, static_cast<uint8_t>(pid % 251), static_cast<uint8_t>(pid / 251 % 251), last);
}

UdpConfig on_loopback() {
  UdpConfig config;
  config.interface_index = if_nametoindex("lo");
  return config;
}

struct Node {
  explicit Node(const Gid& address, const UdpConfig& config = on_loopback()) : engine(config) {
    EXPECT_TRUE(engine.open_address(address));
    flow.source = address;
    flow.source_port = engine.claim_source_port(address, 0xc200).value_or(0);
    flow.hop_limit = 1;
  }
  void send(const Gid& to, uint32_t first_psn, uint32_t count = 1, uint32_t qpn = kMulticastQpn) {
    flow.destination = to;
    TxBatch batch(engine.batch_limits());
    for (uint32_t i = 0; i < count; ++i) append(batch, flow, send_only(qpn, first_psn + i), 32);
    engine.transmit(batch);
  }
  UdpEngine engine;
  Flow flow;
};

TEST(Multicast, EveryMemberHasACopyTheSenderToo) {
  const Gid group = own_group(1);
  Node sender(own_loopback(1));
  Node member(own_loopback(2));
  Node stranger(own_loopback(3));
  for (PacketEngine* engine : {&sender.engine, &member.engine}) {
    auto joined = engine->join_group(group);
    ASSERT_TRUE(joined) << joined.error().what;
    ASSERT_TRUE(engine->join_group(group)) << "again";
  }
  constexpr uint32_t kCount = 20;
  sender.send(group, 100, kCount);
  for (UdpEngine* engine : {&sender.engine, &member.engine}) {
    const auto got = receive_packets(*engine, kCount);
    ASSERT_EQ(got.size(), kCount);
    for (uint32_t i = 0; i < kCount; ++i) {
      ASSERT_TRUE(got[i].headers) << drop_reason_name(got[i].headers.error());
      EXPECT_EQ(got[i].headers->bth.psn, Psn(100 + i));
      EXPECT_EQ(got[i].flow, sender.flow);
    }
    EXPECT_TRUE(engine->receive().empty()) << "one copy each";
  }
  // A stranger gets only the packet that follows, to its own address.
  sender.send(stranger.flow.source, 7);
  const auto got = receive_packets(stranger.engine, 1);
  EXPECT_EQ(got[0].headers->bth.psn, Psn(7));
}

TEST(Multicast, OtherGroupsAndGroupsThatWereLeftAreNotHeard) {
  const Gid group = own_group(2);
  const Gid other = own_group(3);
  Node sender(own_loopback(4));
  Node member(own_loopback(5));
  Node witness(own_loopback(6));
  ASSERT_TRUE(witness.engine.join_group(other));
  ASSERT_TRUE(member.engine.join_group(group));
  sender.send(other, 1);
  receive_packets(witness.engine, 1);
  ASSERT_TRUE(member.engine.join_group(other));
  member.engine.leave_group(other);
  member.engine.leave_group(other);
  sender.send(other, 2);
  receive_packets(witness.engine, 1);
  sender.send(group, 3);
  const auto got = receive_packets(member.engine, 1);
  EXPECT_EQ(got[0].headers->bth.psn, Psn(3));
  // The place that became free serves again.
  ASSERT_TRUE(member.engine.join_group(other));
  sender.send(other, 4);
  EXPECT_EQ(receive_packets(member.engine, 1)[0].headers->bth.psn, Psn(4));
}

struct Report {
  uint32_t psn;
  bool valid;
};

/// A process with a slot that joins the group, reports that it is ready, and then each packet that
/// it receives.
ChildProcess start_member(const Gid& address, const Gid& group) {
  return ChildProcess([=](int pipe) {
    const Slot slot = Slot::acquire().value();
    UdpConfig config = on_loopback();
    AddressSharing sharing(slot, config.interface_index);
    config.sharing = &sharing;
    UdpEngine engine(config);
    if (!engine.open_address(address) || !engine.join_group(group)) _exit(1);
    write_record(pipe, Report{0, true});
    for (;;) {
      pollfd wait{engine.wait_fd(), POLLIN, 0};
      poll(&wait, 1, -1);
      for (const RxPacket& packet : engine.receive()) {
        const auto view = parse(packet);
        const uint32_t psn = view ? view->headers.bth.psn.value() : 0;
        write_record(pipe, Report{psn, view.has_value()});
      }
    }
  });
}

TEST(Multicast, SeveralProcessesOfOneAddress) {
  const Gid address = own_loopback(7);
  const Gid group = own_group(4);
  std::vector<ChildProcess> members;
  for (int i = 0; i < 3; ++i) members.push_back(start_member(address, group));
  for (const ChildProcess& member : members) ASSERT_TRUE(member.read<Report>().has_value());
  Node sender(own_loopback(8));
  // The second one is for a queue pair. It is not forwarded, so each process has one copy.
  sender.send(group, 11);
  sender.send(group, 12, 1, 0x8005);
  sender.send(group, 13);
  for (const ChildProcess& member : members) {
    for (uint32_t psn : {11U, 12U, 13U}) {
      const auto report = member.read<Report>();
      ASSERT_TRUE(report.has_value());
      EXPECT_TRUE(report->valid);
      EXPECT_EQ(report->psn, psn);
    }
  }
}

TEST(Multicast, ErrorsNameTheGroup) {
  UdpConfig config;
  config.interface_index = 0x7ffffff0;
  UdpEngine engine(config);
  auto joined = engine.join_group(ipv4(239, 1, 2, 3));
  ASSERT_FALSE(joined);
  EXPECT_EQ(joined.error().errno_value, ENODEV);
  EXPECT_NE(joined.error().what.find("239.1.2.3"), std::string::npos);
}

TEST(Multicast, InMemoryThroughAFaultyLine) {
  const Gid group = ipv4(239, 0, 0, 1);
  auto network = std::make_shared<MemoryNetwork>();
  FaultEngine sender(std::make_unique<MemoryEngine>(network), {});
  MemoryEngine member(network);
  MemoryEngine stranger(network);
  ASSERT_TRUE(sender.open_address(ipv4(10, 0, 0, 1)));
  ASSERT_TRUE(sender.join_group(group));
  ASSERT_TRUE(member.join_group(group));
  ASSERT_TRUE(stranger.join_group(group));
  stranger.leave_group(group);
  TxBatch batch(sender.batch_limits());
  append(batch, {ipv4(10, 0, 0, 1), group, 0xc000, 0, 1}, send_only(kMulticastQpn, 5), 32);
  sender.lane(0).transmit(batch);
  EXPECT_EQ(sender.lane(0).receive().size(), 1U);
  EXPECT_EQ(member.receive().size(), 1U);
  EXPECT_TRUE(stranger.receive().empty());
  EXPECT_EQ(network->lost(), 0U);
}

}  // namespace
}  // namespace urxe::test
