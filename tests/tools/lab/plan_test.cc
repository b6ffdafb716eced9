// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/plan.h"

#include <gtest/gtest.h>

namespace urxe::lab {
namespace {

Port port(const std::string& interface, size_t network_switch) {
  Port made;
  made.interface = interface;
  made.network_switch = network_switch;
  return made;
}

TEST(LabPlan, AStarHasOneNetwork) {
  const Plan plan = star(2, 4200);
  ASSERT_EQ(plan.nodes.size(), 2U);
  EXPECT_EQ(plan.nodes[1].name, "node2");
  const Port& port = plan.nodes[1].ports.at(0);
  EXPECT_EQ(port.interface, "eth0");
  EXPECT_EQ(port.mtu, 4200U);
  EXPECT_EQ(port.ipv4, "10.0.0.2/24");
  EXPECT_EQ(port.ipv6, "fd00::2/64");
  EXPECT_EQ(hosts_of(plan),
            "127.0.0.1 localhost\n::1 localhost ip6-localhost\n"
            "10.0.0.1 node1 node1-eth0\nfd00::1 node1-ip6 node1-eth0-ip6\n"
            "10.0.0.2 node2 node2-eth0\nfd00::2 node2-ip6 node2-eth0-ip6\n");
}

TEST(LabPlan, TheLastOfTheMostNodesHasAnAddressOfItsOwn) {
  const Plan plan = star(kMostNodes, kLeastMtu);
  EXPECT_EQ(plan.nodes.back().ports[0].ipv4, "10.0.0.64/24");
  EXPECT_EQ(plan.nodes.back().ports[0].ipv6, "fd00::40/64");
}

TEST(LabPlan, PacketsOfTheLargestLinkMayComeToEachOfItsNetwork) {
  Plan plan;
  plan.switches = {"a", "b", "c"};
  plan.trunks = {{0, 1, 1500}};
  plan.nodes = {{"one", {port("eth0", 0), port("eth1", 2)}}, {"two", {port("eth0", 1)}}};
  plan.nodes[0].ports[0].mtu = 9000;
  plan.nodes[1].ports[0].mtu = 4200;
  EXPECT_EQ(largest_mtu_around(plan, 0), 9000U);
  EXPECT_EQ(largest_mtu_around(plan, 1), 9000U);
  EXPECT_EQ(largest_mtu_around(plan, 2), kDefaultMtu);
  plan.trunks[0].mtu = 9001;
  EXPECT_EQ(largest_mtu_around(plan, 1), 9001U);
}

TEST(LabPlan, SwitchesThatATrunkJoinsAreOneNetwork) {
  Plan plan;
  plan.switches = {"a", "b", "c"};
  plan.trunks = {{1, 2}};
  plan.nodes = {{"x", {port("eth0", 0), port("eth1", 1)}},
                {"y", {port("eth0", 2), port("eth1", 1)}}};
  assign_addresses(plan);
  EXPECT_EQ(plan.nodes[0].ports[0].ipv4, "10.0.0.1/24");
  EXPECT_EQ(plan.nodes[0].ports[1].ipv4, "10.0.1.1/24");
  EXPECT_EQ(plan.nodes[1].ports[0].ipv4, "10.0.1.2/24");
  EXPECT_EQ(plan.nodes[1].ports[0].ipv6, "fd00:0:0:1::2/64");
  // Its second address in the same network.
  EXPECT_EQ(plan.nodes[1].ports[1].ipv4, "10.0.1.66/24");
}

}  // namespace
}  // namespace urxe::lab
