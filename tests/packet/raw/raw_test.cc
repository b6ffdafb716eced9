// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/raw.h"

#include <gtest/gtest.h>
#include <linux/capability.h>
#include <poll.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#include <cerrno>
#include <string>

#include "packet/engine/engine_choice.h"
#include "packet/engine/raw/packet_socket.h"
#include "tests/packet/raw/raw_fixture.h"

namespace urxe::test {
namespace {

using Raw = RawMember<RawEngine>;
using Udp = RawMember<UdpEngine>;

class RawEngineTest : public TwoHosts {};

TEST_F(RawEngineTest, CarriesBothWays) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  for (const bool v6 : {false, true}) {
    const Flow there = flow_between(*left_, *right_, v6);
    const Flow back = flow_between(*right_, *left_, v6);
    for (const size_t payload : {0, 8, 1024, 4096}) {
      send_packets(*left.engine, there, right.qpn(), 0, 1, payload);
      expect_sequence(receive_packets(*right.engine, 1), there, 0, 1, payload);
      send_packets(*right.engine, back, left.qpn(), 9, 40, payload);
      expect_sequence(receive_packets(*left.engine, 40), back, 9, 40, payload);
    }
  }
  // Expect: all as frames, in few of them, and nothing twice.
  EXPECT_EQ(left.engine->counters().tx_packets, 8U);
  EXPECT_EQ(right.engine->counters().rx_packets, 8U);
  EXPECT_EQ(left.engine->counters().rx_packets, 320U);
  EXPECT_LT(left.engine->counters().rx_frames, 40U);
  EXPECT_EQ(drain(*left.engine) + drain(*right.engine), 0U);
  EXPECT_EQ(left.engine->udp_counters().rx_packets, 0U);
  EXPECT_EQ(right.engine->udp_counters().tx_packets, 0U);
  EXPECT_EQ(left.engine->totals().frame_received_packets, 320U);
}

TEST_F(RawEngineTest, ReceiverSeesTrafficClassAndHopLimit) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  for (const bool v6 : {false, true}) {
    for (const auto& [traffic_class, hop_limit] : {std::pair{0x6a, 1}, {0, 255}, {0xff, 64}}) {
      Flow flow = flow_between(*left_, *right_, v6);
      flow.traffic_class = static_cast<uint8_t>(traffic_class);
      flow.hop_limit = static_cast<uint8_t>(hop_limit);
      send_packets(*left.engine, flow, right.qpn(), 0, 5, 512);
      expect_sequence(receive_packets(*right.engine, 5), flow, 0, 5, 512);
    }
  }
}

/// The SO_PRIORITY of this process's packet socket.
int packet_socket_priority() {
  for (int fd = 3; fd < 200; ++fd) {
    int value = 0;
    socklen_t size = sizeof value;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &value, &size) != 0 || value != AF_PACKET) continue;
    EXPECT_EQ(getsockopt(fd, SOL_SOCKET, SO_PRIORITY, &value, &size), 0);
    return value;
  }
  return -1;
}

// Expect: the service level's, or that of a UDP socket with the traffic class; and the packets of a
// batch with several come in order.
TEST_F(RawEngineTest, PacketsHaveAPriority) {
  introduce();
  Raw left(*left_);
  Udp right(*right_);
  struct Case {
    uint8_t traffic_class, service_level;
    int priority;
  };
  TxBatch batch(left.engine->batch_limits());
  uint32_t psn = 0;
  for (const auto& [traffic_class, service_level, priority] :
       {Case{0, 0, 0}, {0x08, 0, 2}, {0x10, 0, 6}, {0x1b, 0, 4}, {0x08, 5, 5}, {0, 15, 15}}) {
    Flow flow = flow_between(*left_, *right_);
    flow.traffic_class = traffic_class;
    flow.service_level = service_level;
    send_packets(*left.engine, flow, right.qpn(), psn, 1, 16);
    EXPECT_EQ(packet_socket_priority(), priority);
    append(batch, flow, send_only(right.qpn(), 100 + psn++), 16);
  }
  left.engine->transmit(batch);
  const auto got = receive_packets(*right.engine, 12);
  for (uint32_t i = 0; i < 12; ++i) EXPECT_EQ(got.at(i).headers->bth.psn, Psn(i < 6 ? i : 94 + i));
  EXPECT_EQ(left.engine->counters().tx_packets, 12U);
}

TEST_F(RawEngineTest, WorksWithUdpEnginesInBothRoles) {
  introduce();
  Raw left(*left_);
  Udp right(*right_);
  for (const bool v6 : {false, true}) {
    const Flow there = flow_between(*left_, *right_, v6);
    const Flow back = flow_between(*right_, *left_, v6);
    send_packets(*left.engine, there, right.qpn(), 0, 30, 1024);
    expect_sequence(receive_packets(*right.engine, 30), there, 0, 30, 1024);
    send_packets(*right.engine, back, left.qpn(), 0, 30, 1024);
    expect_sequence(receive_packets(*left.engine, 30), back, 0, 30, 1024);
  }
  EXPECT_EQ(left.engine->counters().tx_packets, 60U);
  EXPECT_EQ(left.engine->counters().rx_packets, 60U);
  EXPECT_EQ(drain(*left.engine), 0U);
}

// The kernel asks for the neighbour's address when the first packet goes by UDP.
TEST_F(RawEngineTest, TheFirstPacketResolvesTheNeighbour) {
  Raw left(*left_);
  Raw right(*right_);
  const Flow there = flow_between(*left_, *right_);
  send_packets(*left.engine, there, right.qpn(), 0, 3, 16);
  expect_sequence(receive_packets(*right.engine, 3), there, 0, 3, 16);
  EXPECT_EQ(left.engine->counters().tx_unresolved, 3U);
  EXPECT_TRUE(eventually([&] {
    left.engine->receive();
    send_packets(*left.engine, there, right.qpn(), 3, 1, 16);
    return left.engine->counters().tx_packets > 0;
  }));
}

// Expect: what UDP has for good reasons goes by UDP: QP1, this host's own addresses, no route.
TEST_F(RawEngineTest, LeavesTheRestToUdp) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  const Flow there = flow_between(*left_, *right_);
  send_packets(*left.engine, there, 1, 0, 2, 64);  // goes as a frame, comes by UDP
  expect_sequence(receive_packets(*right.engine, 2), there, 0, 2, 64);
  EXPECT_EQ(right.engine->counters().rx_packets, 0U);
  const Flow self = flow_between(*left_, *left_);
  send_packets(*left.engine, self, left.qpn(), 0, 20, 64);
  expect_sequence(receive_packets(*left.engine, 20), self, 0, 20, 64);
  EXPECT_EQ(left.engine->counters().rx_packets, 0U);
  Flow nowhere = there;
  nowhere.destination = ipv4(192, 0, 2, 1);
  send_packets(*left.engine, nowhere, right.qpn(), 0, 1, 64);
  EXPECT_EQ(left.engine->udp_counters().tx_unreachable, 1U);
}

TEST_F(RawEngineTest, TakesOnlyWhatIsForIt) {
  introduce();
  Raw left(*left_);
  const uint32_t other = make_qpn((left.slot.number() + 1) % kSlots, 5).value();
  Frame good = make_frame(flow_between(*right_, *left_), 1, 8, left.qpn(), left_->mac());
  const auto inject_changed = [&](size_t at, int value) {
    Frame changed = good;
    changed.bytes[at] = static_cast<uint8_t>(value);
    if (at < 34) repair_ipv4_checksum(changed);
    inject(*right_, changed.bytes);
  };
  const auto inject_frame = [&](const Flow& flow, uint32_t qpn, const MacAddress& to) {
    inject(*right_, make_frame(flow, 1, 8, qpn, to).bytes);
  };
  inject_frame(flow_between(*right_, *left_), left.qpn(), {2, 0, 0, 0, 0, 9});  // another's MAC
  inject_frame(flow_between(*right_, *left_), other, left_->mac());
  Flow elsewhere = flow_between(*right_, *left_);
  elsewhere.destination = ipv4(10, 98, 0, 77);  // to be routed by this host
  inject_frame(elsewhere, left.qpn(), left_->mac());
  inject_changed(14 + 6, 0x60);  // a fragment
  inject_changed(14 + 9, 6);     // TCP
  inject_changed(34 + 3, 0xb8);  // another port
  inject_changed(14 + 3, 0xff);  // longer than the frame
  Frame tagged = good;
  tagged.bytes.insert(tagged.bytes.begin() + 12, {0x81, 0x00, 0x00, 0x05});
  inject(*right_, tagged.bytes);
  for (size_t size = 14; size < good.bytes.size(); ++size) {
    inject(*right_, {good.bytes.begin(), good.bytes.begin() + static_cast<std::ptrdiff_t>(size)});
  }
  Frame with_options = good;
  add_ipv4_options(with_options, 8);
  inject(*right_, with_options.bytes);
  inject(*right_, good.bytes);
  // Expect: the last two only.
  EXPECT_EQ(receive_packets(*left.engine, 2).size(), 2U);
  EXPECT_EQ(drain(*left.engine), 0U);
  EXPECT_EQ(left.engine->counters().rx_packets, 2U);
}

// A frame with a priority but no VLAN is the interface's.
TEST_F(RawEngineTest, TakesFramesThatHaveOnlyAPriority) {
  introduce();
  Raw left(*left_);
  Frame frame = make_frame(flow_between(*right_, *left_), 1, 8, left.qpn(), left_->mac());
  frame.bytes.insert(frame.bytes.begin() + 12, {0x81, 0x00, 0x60, 0x00});
  inject(*right_, frame.bytes);
  EXPECT_EQ(receive_packets(*left.engine, 1).size(), 1U);
  EXPECT_EQ(drain(*left.engine), 0U);
}

// A packet without DF is not as RoCE has it; but UDP would take it, and does.
TEST_F(RawEngineTest, WhatTheRingDoesNotTakeComesByUdp) {
  introduce();
  Raw left(*left_);
  Frame frame = make_frame(flow_between(*right_, *left_), 1, 8, left.qpn(), left_->mac());
  frame.bytes[14 + 6] = 0;
  repair_ipv4_checksum(frame);
  store_be16(frame.bytes.data() + 34 + 6, 0);  // no UDP checksum
  inject(*right_, frame.bytes);
  EXPECT_EQ(receive_packets(*left.engine, 1).size(), 1U);
  EXPECT_EQ(left.engine->counters().rx_packets, 0U);
}

/// Two processes of one host, one with a raw and one with a UDP engine.
class RawSharing : public TwoHosts {
 protected:
  void SetUp() override {
    TwoHosts::SetUp();
    if (IsSkipped()) return;
    introduce();
    raw_.emplace(*left_);
    udp_.emplace(*left_);
    remote_.emplace(*right_);
    settle();
  }
  void settle() {
    for (int i = 0; i < 30; ++i) {
      drain(*raw_->engine);
      drain(*udp_->engine);
      usleep(1000);
    }
  }
  void send_from_remote(uint32_t qpn, uint32_t psn, size_t count = 1) {
    send_packets(*remote_->engine, flow_, qpn, psn, count, 64);
  }
  std::optional<Raw> raw_;
  std::optional<Udp> udp_;
  std::optional<Udp> remote_;
  Flow flow_{ipv4(10, 98, 0, 2), ipv4(10, 98, 0, 1), 0xc123, 0, 64};
};

TEST_F(RawSharing, EachGetsItsOwnOnce) {
  for (uint32_t psn = 0; psn < 20; psn += 10) {
    send_from_remote(raw_->qpn(), psn, 10);
    send_from_remote(udp_->qpn(), psn, 10);
    expect_sequence(receive_packets(*raw_->engine, 10), flow_, psn, 10, 64);
    EXPECT_TRUE(eventually([&] { return drain(*raw_->engine) == 0; }));
    expect_sequence(receive_packets(*udp_->engine, 10), flow_, psn, 10, 64);
  }
  EXPECT_EQ(raw_->engine->counters().rx_packets, 20U);
}

/// One datagram with a packet for each of the two, as only a stranger would send it.
TEST_F(RawSharing, AMixedBatchIsDividedOnce) {
  for (const bool raw_first : {true, false}) {
    TxBatch batch(remote_->engine->batch_limits());
    const uint32_t first = raw_first ? raw_->qpn() : udp_->qpn();
    const uint32_t second = raw_first ? udp_->qpn() : raw_->qpn();
    append(batch, flow_, send_only(first, 0), 64);
    append(batch, flow_, send_only(first, 1), 64);
    TxBatch other(remote_->engine->batch_limits());
    append(other, flow_, send_only(second, 0), 64);
    append(other, flow_, send_only(second, 1), 64);
    Frame frame = make_frame(flow_, 4, 64, first, left_->mac());
    const auto bytes = other.bytes(other.messages()[0]);
    // The last two are the other's; the ICRC covers the identification, 2 and 3 there.
    std::copy(bytes.begin(), bytes.end(),
              frame.bytes.end() - static_cast<std::ptrdiff_t>(bytes.size()));
    right_->in([&] {
      const FileDescriptor fd(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC, 0));
      const int on = 1;
      ASSERT_EQ(setsockopt(fd.get(), SOL_PACKET, PACKET_VNET_HDR, &on, sizeof on), 0);
      sockaddr_ll to{};
      to.sll_family = AF_PACKET;
      to.sll_protocol = 0x0008;
      to.sll_ifindex = static_cast<int>(right_->ifindex());
      std::vector<uint8_t> sent(sizeof frame.vnet);
      std::memcpy(sent.data(), &frame.vnet, sizeof frame.vnet);
      sent.insert(sent.end(), frame.bytes.begin(), frame.bytes.end());
      ASSERT_EQ(sendto(fd.get(), sent.data(), sent.size(), 0, reinterpret_cast<sockaddr*>(&to),
                       sizeof to),
                static_cast<ssize_t>(sent.size()));
    });
    size_t raw_got = 0;
    size_t udp_got = 0;
    EXPECT_TRUE(eventually([&] {
      raw_got += drain(*raw_->engine);
      udp_got += drain(*udp_->engine);
      return raw_got >= 2 && udp_got >= 2;
    }));
    raw_got += drain(*raw_->engine);
    udp_got += drain(*udp_->engine);
    EXPECT_EQ(raw_got, 2U) << "raw first: " << raw_first;
    EXPECT_EQ(udp_got, 2U) << "raw first: " << raw_first;
  }
}

// The kernel's program has the wrong order of the sockets; the other process forwards what the
// packet socket has had already.
TEST_F(RawSharing, WhatIsForwardedToItComesOnce) {
  left_->in([&] {
    const FileDescriptor extra = open_receive_socket(left_->v4(), {}).value();
    const std::vector<GroupMember> wrong = {{raw_->slot.number(), 1}, {udp_->slot.number(), 1}};
    ASSERT_TRUE(attach_reuseport_program(extra.get(), wrong));
  });
  send_from_remote(raw_->qpn(), 0, 5);
  size_t raw_got = 0;
  EXPECT_TRUE(eventually([&] {
    drain(*udp_->engine);
    raw_got += drain(*raw_->engine);
    return raw_got >= 5 && raw_->sharing.counters().direct >= 5;
  }));
  EXPECT_EQ(raw_got, 5U);
  // Over the loopback interface only the other process has it.
  Flow self = flow_between(*left_, *left_);
  self.source_port = udp_->port;
  send_packets(*udp_->engine, self, raw_->qpn(), 0, 3, 64);
  EXPECT_TRUE(eventually([&] {
    drain(*udp_->engine);
    raw_got += drain(*raw_->engine);
    return raw_got >= 8;
  }));
  EXPECT_EQ(raw_got, 8U);
}

TEST_F(RawEngineTest, FollowsTheMtu) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  const Flow there = flow_between(*left_, *right_);
  send_packets(*left.engine, there, right.qpn(), 0, 1, 4096);
  ASSERT_EQ(receive_packets(*right.engine, 1).size(), 1U);
  ASSERT_TRUE(left_->run("ip link set left mtu 1500"));
  EXPECT_TRUE(eventually([&] {
    drain(*left.engine);
    send_packets(*left.engine, there, right.qpn(), 1, 1, 4096);
    return left.engine->udp_counters().tx_message_size > 0;
  }));
  introduce();  // the change may have made the kernel forget them
  const uint64_t frames = left.engine->counters().tx_packets;
  EXPECT_TRUE(eventually([&] {
    drain(*left.engine);
    send_packets(*left.engine, there, right.qpn(), 1, 2, 1024);
    return left.engine->counters().tx_packets > frames;
  }));
}

TEST_F(RawEngineTest, FollowsTheNeighbour) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  const Flow there = flow_between(*left_, *right_);
  send_packets(*left.engine, there, right.qpn(), 0, 1, 16);
  ASSERT_EQ(receive_packets(*right.engine, 1).size(), 1U);
  ASSERT_TRUE(right_->run("ip link set right address 02:00:00:00:00:22"));
  ASSERT_TRUE(left_->run("ip neigh replace 10.98.0.2 lladdr 02:00:00:00:00:22 dev left"));
  size_t came = 0;
  EXPECT_TRUE(eventually([&] {
    drain(*left.engine);
    send_packets(*left.engine, there, right.qpn(), 1, 1, 16);
    came += drain(*right.engine);
    return came > 0;
  }));
  EXPECT_EQ(left.engine->udp_counters().tx_packets, 0U);
}

bool is_readable(int fd) {
  pollfd wait{fd, POLLIN, 0};
  return poll(&wait, 1, 0) == 1;
}

TEST_F(RawEngineTest, SleepsWhileTheLinkIsDown) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  const Flow there = flow_between(*left_, *right_);
  ASSERT_TRUE(left_->run("ip link set left down"));
  EXPECT_TRUE(eventually([&] {
    drain(*left.engine);
    return !is_readable(left.engine->wait_fd());
  }));
  send_packets(*left.engine, there, right.qpn(), 0, 1, 16);
  EXPECT_EQ(left.engine->totals().send_lost, 1U);
  ASSERT_TRUE(left_->run("ip link set left up"));
  introduce();
  const uint64_t frames = left.engine->counters().tx_packets;
  EXPECT_TRUE(eventually([&] {
    drain(*left.engine);
    send_packets(*left.engine, there, right.qpn(), 1, 1, 16);
    return left.engine->counters().tx_packets > frames && drain(*right.engine) > 0;
  }));
  send_packets(*right.engine, flow_between(*right_, *left_), left.qpn(), 0, 1, 16);
  EXPECT_EQ(receive_packets(*left.engine, 1).size(), 1U);
}

TEST_F(RawEngineTest, OutlivesItsInterface) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  const Flow there = flow_between(*left_, *right_);
  send_packets(*left.engine, there, right.qpn(), 0, 1, 16);
  ASSERT_EQ(receive_packets(*right.engine, 1).size(), 1U);
  ASSERT_TRUE(left_->run("ip link del left"));
  EXPECT_TRUE(eventually([&] {
    drain(*left.engine);
    return !is_readable(left.engine->wait_fd());
  }));
  send_packets(*left.engine, there, right.qpn(), 1, 1, 16);
  EXPECT_EQ(left.engine->totals().send_lost, 1U);
  // The address on another interface: UDP has it all.
  ASSERT_TRUE(left_->run("ip addr add 10.98.0.1/32 dev lo"));
  const Flow self = flow_between(*left_, *left_);
  send_packets(*left.engine, self, left.qpn(), 0, 1, 16);
  EXPECT_EQ(receive_packets(*left.engine, 1).size(), 1U);
}

TEST_F(RawEngineTest, CountsWhatTheRingHasNoRoomFor) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  const Flow back = flow_between(*right_, *left_);
  constexpr size_t kSlotsInRing = 8 * kRingBlockSlots;
  for (uint32_t psn = 0; psn < kSlotsInRing + 30; ++psn) {
    send_packets(*right.engine, back, left.qpn(), psn, 1, 16);
  }
  const auto got = receive_packets(*left.engine, kSlotsInRing);
  expect_sequence(got, back, 0, kSlotsInRing, 16);
  EXPECT_EQ(drain(*left.engine), 0U);
  EXPECT_EQ(left.engine->totals().receive_lost, 30U);
}

TEST_F(RawEngineTest, AForkedChildDisturbsNothing) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  const Flow back = flow_between(*right_, *left_);
  send_packets(*right.engine, back, left.qpn(), 0, 60, 16);
  const pid_t child = fork();
  if (child == 0) {
    left.engine->abandon();
    left.engine.reset();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  expect_sequence(receive_packets(*left.engine, 60), back, 0, 60, 16);
  send_packets(*right.engine, back, left.qpn(), 60, 60, 4096);
  expect_sequence(receive_packets(*left.engine, 60), back, 60, 60, 4096);
}

TEST_F(RawEngineTest, TheKernelSendsNoErrors) {
  introduce();
  Raw left(*left_);
  right_->in([&] {
    const FileDescriptor fd(socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    const SocketAddress to(left_->v4(), kRoceUdpPort, 0);
    ASSERT_EQ(connect(fd.get(), to.get(), to.size()), 0);
    std::array<uint8_t, 16> packet{0x64, 0, 0xff, 0xff};
    store_be32(packet.data() + 4, left.qpn());
    for (int i = 0; i < 5; ++i) {
      ASSERT_EQ(send(fd.get(), packet.data(), packet.size(), 0), 16) << std::strerror(errno);
    }
  });
  EXPECT_EQ(receive_packets(*left.engine, 5).size(), 5U);
}

TEST_F(RawEngineTest, LeavesNothingToWaitFor) {
  introduce();
  Raw left(*left_);
  left.engine->leave();
  left.engine->leave();
  EXPECT_TRUE(left.engine->receive().empty());
  send_packets(*left.engine, flow_between(*left_, *right_), 7, 0, 1, 16);
}

TEST_F(RawEngineTest, SaysThatTheRingHasNoMemory) {
  const Slot slot = Slot::acquire().value();
  AddressSharing sharing(slot, left_->ifindex());
  UdpConfig config;
  config.interface_index = left_->ifindex();
  config.sharing = &sharing;
  const auto opened =
      left_->in([&] { return RawEngine::open({.udp = config, .ring_blocks = size_t{1} << 20}); });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().errno_value, ENOMEM) << opened.error().what;
  EXPECT_NE(opened.error().what.find("receive ring"), std::string::npos);
  EXPECT_NE(opened.error().what.find("What to do"), std::string::npos);
}

TEST_F(RawEngineTest, SaysThatTheInterfaceIsGone) {
  const Slot slot = Slot::acquire().value();
  AddressSharing sharing(slot, 4711);
  UdpConfig config;
  config.interface_index = 4711;
  config.sharing = &sharing;
  const auto opened = left_->in([&] { return RawEngine::open({.udp = config}); });
  ASSERT_FALSE(opened);
  EXPECT_EQ(opened.error().errno_value, ENODEV);
  EXPECT_NE(opened.error().what.find("the network interface is gone"), std::string::npos);
}

/// Drops CAP_NET_RAW, or takes it again.
void set_net_raw(bool on) {
  __user_cap_header_struct header{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct data[2] = {};
  ASSERT_EQ(syscall(SYS_capget, &header, data), 0);
  const uint32_t bit = 1U << CAP_NET_RAW;
  data[0].effective = on ? data[0].effective | bit : data[0].effective & ~bit;
  ASSERT_EQ(syscall(SYS_capset, &header, data), 0);
}

TEST_F(RawEngineTest, SaysHowToGetTheCapability) {
  EXPECT_TRUE(check_engine(EngineKind::kRaw));
  set_net_raw(false);
  const auto refused = check_engine(EngineKind::kRaw);
  const auto udp = check_engine(EngineKind::kUdp);
  set_net_raw(true);
  ASSERT_FALSE(refused);
  EXPECT_TRUE(udp);
  EXPECT_EQ(refused.error().errno_value, EPERM);
  for (const char* words : {"CAP_NET_RAW", "setpriv", "--ambient-caps=+net_raw", "--engine udp"}) {
    EXPECT_NE(refused.error().what.find(words), std::string::npos) << words;
  }
  EXPECT_EQ(refused.error().what.find('\n'), std::string::npos);
}

TEST_F(RawEngineTest, IsForEthernetInterfaces) {
  left_->in([&] {
    EXPECT_EQ(engine_for(EngineChoice::kRaw, left_->ifindex()), EngineKind::kRaw);
    EXPECT_EQ(engine_for(EngineChoice::kAuto, left_->ifindex()), EngineKind::kUdp);
    EXPECT_EQ(engine_for(EngineChoice::kRaw, if_nametoindex("lo")), EngineKind::kUdp);
    EXPECT_EQ(engine_for(EngineChoice::kRaw, 4711), EngineKind::kUdp);
  });
}

TEST(EngineChoice, HasThreeWords) {
  EXPECT_EQ(parse_engine_choice("udp").value(), EngineChoice::kUdp);
  EXPECT_EQ(parse_engine_choice("raw").value(), EngineChoice::kRaw);
  EXPECT_EQ(parse_engine_choice("auto").value(), EngineChoice::kAuto);
  EXPECT_EQ(parse_engine_choice("").value(), EngineChoice::kAuto);
  for (const char* wrong : {"dpdk", "RAW", "udp "}) {
    const auto refused = parse_engine_choice(wrong);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error(),
              "there is no engine '" + std::string(wrong) + "'; there are udp, raw and auto");
  }
}

}  // namespace
}  // namespace urxe::test
