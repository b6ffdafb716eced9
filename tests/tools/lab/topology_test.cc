// SPDX-License-Identifier: BSD-2-Clause
#include "tools/lab/topology.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdio>
#include <fstream>

namespace urxe::lab {
namespace {

constexpr const char* kTwoRacks =
    "# two racks\n"
    "switch rack1\n"
    "switch rack2 # the far one\n"
    "link rack1 rack2 mtu=9000\n"
    "\n"
    "node a\n"
    "\tnode b\r\n"
    "link a rack1 mtu=4200\n"
    "link rack2 b loss=1% delay=50us\n"
    "link b a rate=1G";

TEST(LabTopology, NodesSwitchesAndLinks) {
  const auto plan = parse_topology(kTwoRacks);
  ASSERT_TRUE(plan) << plan.error();
  ASSERT_EQ(plan->nodes.size(), 2U);
  const Node& a = plan->nodes[0];
  const Node& b = plan->nodes[1];
  ASSERT_EQ(a.ports.size(), 2U);
  ASSERT_EQ(b.ports.size(), 2U);
  EXPECT_EQ(a.ports[0].interface, "eth0");
  EXPECT_EQ(a.ports[0].mtu, 4200U);
  EXPECT_EQ(b.ports[0].network_switch, 1U);
  EXPECT_EQ(b.ports[1].interface, "eth1");
  ASSERT_EQ(plan->trunks.size(), 1U);
  EXPECT_EQ(plan->trunks[0].mtu, 9000U);
}

TEST(LabTopology, SwitchesThatAreJoinedAreOneNetworkAndADirectLinkIsAnother) {
  const auto plan = parse_topology(kTwoRacks);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->nodes[0].ports[0].ipv4, "10.0.0.1/24");
  EXPECT_EQ(plan->nodes[1].ports[0].ipv4, "10.0.0.2/24");
  EXPECT_EQ(plan->nodes[0].ports[1].ipv4, "10.0.2.1/24");
  EXPECT_EQ(plan->nodes[1].ports[1].ipv4, "10.0.2.2/24");
}

TEST(LabTopology, PacketsMeetTheWordsOfALinkAtOneEnd) {
  const auto plan = parse_topology(kTwoRacks);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(faults_of(plan->nodes[0]), "");
  EXPECT_EQ(faults_of(plan->nodes[1]), "eth0:loss=1%,delay=50us;eth1:rate=1G");
}

TEST(LabTopology, WrongLinesAreNamed) {
  const std::string start = "switch s\nswitch t\nnode a\nnode b\n";
  for (const auto& [line, error] : std::vector<std::pair<std::string, std::string>>{
           {"router r", "'router': a line begins with node, switch or link"},
           {"node", "a line is 'node NAME'"},
           {"switch u v", "a line is 'switch NAME'"},
           {"node a", "there is another 'a'"},
           {"node s", "there is another 's'"},
           {"node -x", "'-x' is no name"},
           {"node x,y", "'x,y' is no name"},
           {"node 1", "'1' is no name"},
           {"node A", "there is another 'A'"},
           {"switch B", "there is another 'B'"},
           {"node localhost", "'localhost' means something else"},
           {"node a-ip6", "'a-ip6' means something else"},
           {"node a-eth1", "'a-eth1' means something else"},
           {"link a s mtu=1500 mtu=9000", "mtu= is given twice"},
           {"link a", "a line is 'link A B [WORD...]'"},
           {"link a c", "there is no node or switch 'c' so far"},
           {"link a a", "a link has two ends"},
           {"link a s mtu=100", "mtu=100: from 1280 to 65535"},
           {"link a s mtu=99999999999", "mtu=99999999999: from 1280 to 65535"},
           {"link a s mtu=1500x", "mtu=1500x: from 1280 to 65535"},
           {"link a s loss=2", "'loss=2': accepted are"},
           {"link a s loss=1% loss=1%", "'loss=1%': given twice"},
           {"link s t loss=1%", "loss=1%: a link between switches takes only mtu="},
           {"link s s", "there is a way between the two already"},
           {"link s t\nlink t s", "there is a way between the two already"}}) {
    const auto plan = parse_topology(start + line);
    ASSERT_FALSE(plan) << line;
    const size_t number = 5U + static_cast<size_t>(std::ranges::count(line, '\n'));
    EXPECT_EQ(plan.error().find(fmt::format("line {}: {}", number, error)), 0U) << plan.error();
  }
}

TEST(LabTopology, AnErrorIsShortAndPrintable) {
  EXPECT_EQ(parse_topology("\x1b[31mred").error().find("line 1: '?[31mred': a line begins"), 0U);
  EXPECT_LT(parse_topology(std::string(100'000, 'x')).error().size(), 300U);
}

TEST(LabTopology, TheWordsThatALinkTakesAreNamedWhole) {
  const auto plan = parse_topology("node a\nnode b\nlink a b foo=1");
  EXPECT_TRUE(plan.error().ends_with("joined by commas")) << plan.error();
}

TEST(LabTopology, EveryNodeHasALink) {
  EXPECT_EQ(parse_topology("").error(), "there is no node");
  EXPECT_EQ(parse_topology("switch s\nnode a\nnode b\nlink a s").error(), "b has no link");
}

TEST(LabTopology, ThereAreBounds) {
  std::string nodes = "switch s\n";
  for (unsigned i = 0; i <= kMostNodes; ++i) nodes += fmt::format("node n{}\n", i);
  EXPECT_EQ(parse_topology(nodes).error(), "line 66: 64 nodes at most");
  std::string links = "switch s\nswitch t\nlink s t\nnode a\n";
  for (int i = 0; i < 3; ++i) links += "link a s\n";
  EXPECT_TRUE(parse_topology(links));
  EXPECT_EQ(parse_topology(links + "link a t\n").error(), "a has more than 3 links to one network");
}

TEST(LabTopology, TheLastAddressOfTheMostNodesFits) {
  std::string text = "switch s\n";
  for (unsigned i = 0; i < kMostNodes; ++i) {
    text += fmt::format("node n{0}\nlink n{0} s\nlink n{0} s\nlink n{0} s\n", i);
  }
  const auto plan = parse_topology(text);
  ASSERT_TRUE(plan) << plan.error();
  EXPECT_EQ(plan->nodes.back().ports.back().ipv4, "10.0.0.192/24");
}

TEST(LabTopology, AFileThatCannotBeReadIsNamed) {
  EXPECT_EQ(read_topology("/no/such/file").error(), "/no/such/file: No such file or directory");
  EXPECT_EQ(read_topology("/").error(), "/: not a regular file; write the plan to one");
  EXPECT_EQ(read_topology("/dev/zero").error().find("/dev/zero: not a regular file"), 0U);
}

}  // namespace
}  // namespace urxe::lab
