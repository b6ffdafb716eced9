// SPDX-License-Identifier: BSD-2-Clause
// What a RawEngine carries, and what it leaves alone.
#include "packet/engine/raw/raw.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <array>
#include <cerrno>

#include "packet/engine/raw/packet_socket.h"
#include "tests/packet/engine/raw/raw_fixture.h"

namespace urxe::test {
namespace {

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

TEST_F(RawEngineTest, PromisesWhatUdpDoes) {
  Raw left(*left_);
  Udp right(*right_);
  const EnginePromises raw = left.engine->promises();
  const EnginePromises udp = right.engine->promises();
  EXPECT_FALSE(raw.integrity);
  EXPECT_EQ(raw.segments_per_message, udp.segments_per_message);
  EXPECT_EQ(raw.identification, udp.identification);
  EXPECT_EQ(raw.receive_buffer, udp.receive_buffer);
  EXPECT_EQ(raw.largest_packet, UINT32_MAX) << "what is too large for a frame goes by UDP";
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
  inject_frame(flow_between(*left_, *left_), left.qpn(), left_->mac());  // from itself
  inject_frame(flow_between(*left_, *left_, true), left.qpn(), left_->mac());
  for (const Gid& forged : {ipv4(127, 0, 0, 1), ipv4(0, 0, 0, 0), ipv4(224, 1, 2, 3)}) {
    Flow flow = flow_between(*right_, *left_);
    flow.source = forged;
    inject_frame(flow, left.qpn(), left_->mac());
  }
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
  // Behind its last slot the ring begins anew, also in the middle of what is taken at once.
  uint32_t next = 5000;
  for (const size_t count : {size_t{3}, kSlotsInRing - 10, size_t{20}, kSlotsInRing}) {
    for (uint32_t i = 0; i < count; ++i) {
      send_packets(*right.engine, back, left.qpn(), next + i, 1, 16);
    }
    expect_sequence(receive_packets(*left.engine, count), back, next, count, 16);
    EXPECT_EQ(drain(*left.engine), 0U);  // gives the last slots back, too
    next += static_cast<uint32_t>(count);
  }
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

}  // namespace
}  // namespace urxe::test
