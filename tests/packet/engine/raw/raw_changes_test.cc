// SPDX-License-Identifier: BSD-2-Clause
// What a RawEngine does when the network changes.
#include <gtest/gtest.h>
#include <poll.h>

#include <cstdlib>

#include "packet/engine/raw/change_watch.h"
#include "packet/engine/raw/raw.h"
#include "tests/packet/engine/raw/raw_fixture.h"

namespace urxe::test {
namespace {

class RawChanges : public TwoHosts {};

TEST_F(RawChanges, FollowsTheMtu) {
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

TEST_F(RawChanges, FollowsTheNeighbour) {
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

TEST_F(RawChanges, SleepsWhileTheLinkIsDown) {
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

// The kernel reports the link's end to who reads next, and that is who reads a super-packet.
TEST_F(RawChanges, ABatchOutlivesTheLink) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  const Flow back = flow_between(*right_, *left_);
  left.engine->receive();  // the next one does not look around
  send_packets(*right.engine, back, left.qpn(), 0, 30, 1024);
  ASSERT_TRUE(left_->run("ip link set left down"));
  expect_sequence(receive_packets(*left.engine, 30), back, 0, 30, 1024);
}

/// Sends until a packet was not let go by the kernel: no frame either, then.
void expect_prohibited(Raw& from, const Flow& flow, uint32_t qpn) {
  const uint64_t lost = from.engine->totals().send_lost;
  EXPECT_TRUE(eventually([&] {
    drain(*from.engine);
    send_packets(*from.engine, flow, qpn, 1, 1, 16);
    return from.engine->totals().send_lost > lost;
  }));
}

// In a namespace where nothing else happens.
TEST_F(RawChanges, RulesOfBothFamiliesAreSeen) {
  for (const std::string ip : {"ip", "ip -6"}) {
    const auto watch = ChangeWatch::open(1);
    ASSERT_TRUE(watch);
    ASSERT_FALSE(watch->take().any);
    ASSERT_EQ(std::system((ip + " rule add ipproto 17 prohibit").c_str()), 0);
    EXPECT_TRUE(watch->take().any) << ip;
    ASSERT_EQ(std::system((ip + " rule del ipproto 17 prohibit").c_str()), 0);
  }
}

TEST_F(RawChanges, FollowsRules) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  for (const bool v6 : {false, true}) {
    const Flow there = flow_between(*left_, *right_, v6);
    send_packets(*left.engine, there, right.qpn(), 0, 1, 16);
    ASSERT_EQ(receive_packets(*right.engine, 1).size(), 1U);
    const std::string to = there.destination.to_string();
    ASSERT_TRUE(left_->run(std::string(v6 ? "ip -6" : "ip") + " rule add to " + to + " prohibit"));
    expect_prohibited(left, there, right.qpn());
  }
}

TEST_F(RawChanges, FollowsRulesAboutThePortAndTheTrafficClass) {
  introduce();
  Raw left(*left_);
  Raw right(*right_);
  Flow there = flow_between(*left_, *right_, true);
  there.traffic_class = 0x10;
  send_packets(*left.engine, there, right.qpn(), 0, 1, 16);
  ASSERT_EQ(receive_packets(*right.engine, 1).size(), 1U);
  ASSERT_TRUE(left_->run("ip -6 rule add tos 0x10 prohibit"));
  expect_prohibited(left, there, right.qpn());
  for (const bool v6 : {false, true}) {
    there = flow_between(*left_, *right_, v6);
    send_packets(*left.engine, there, right.qpn(), 0, 1, 16);
    ASSERT_EQ(receive_packets(*right.engine, 1).size(), 1U);
    ASSERT_TRUE(
        left_->run(std::string(v6 ? "ip -6" : "ip") + " rule add ipproto 17 dport 4791 prohibit"));
    expect_prohibited(left, there, right.qpn());
  }
}

TEST_F(RawChanges, OutlivesItsInterface) {
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

}  // namespace
}  // namespace urxe::test
