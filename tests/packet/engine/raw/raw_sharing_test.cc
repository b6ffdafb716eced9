// SPDX-License-Identifier: BSD-2-Clause
// A RawEngine and a UdpEngine on one address.
#include <gtest/gtest.h>

#include <cstring>

#include "packet/engine/raw/raw.h"
#include "packet/sharing/calibration/reuseport_program.h"
#include "tests/packet/engine/raw/raw_fixture.h"

namespace urxe::test {
namespace {

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
  /// Until the kernel gives each of the two its own packets: one process alone runs at a time here,
  /// so neither answers while the other opens an address.
  void settle() {
    EXPECT_TRUE(eventually([&] {
      const uint64_t before = forwarded();
      send_from_remote(raw_->qpn(), 0);
      send_from_remote(udp_->qpn(), 0);
      usleep(1000);
      const size_t received = drain(*raw_->engine) + drain(*udp_->engine);
      return received == 2 && forwarded() == before;
    }));
  }
  [[nodiscard]] uint64_t forwarded() const {
    return raw_->sharing.counters().forwarded + udp_->sharing.counters().forwarded;
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
  const uint64_t before = raw_->engine->counters().rx_packets;
  for (uint32_t psn = 0; psn < 20; psn += 10) {
    send_from_remote(raw_->qpn(), psn, 10);
    send_from_remote(udp_->qpn(), psn, 10);
    expect_sequence(receive_packets(*raw_->engine, 10), flow_, psn, 10, 64);
    EXPECT_TRUE(eventually([&] { return drain(*raw_->engine) == 0; }));
    expect_sequence(receive_packets(*udp_->engine, 10), flow_, psn, 10, 64);
  }
  EXPECT_EQ(raw_->engine->counters().rx_packets - before, 20U);
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
  const uint64_t before = raw_->sharing.counters().direct;
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
    return raw_got >= 5 && raw_->sharing.counters().direct >= before + 5;
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

}  // namespace
}  // namespace urxe::test
