// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/interfaces.h"

#include <gtest/gtest.h>

namespace urxe::doctor {
namespace {

constexpr uint8_t kAddress[4] = {10, 0, 0, 1};

Interface interface(const std::string& name, uint32_t ifindex) {
  Interface made;
  made.name = name;
  made.ifindex = ifindex;
  made.mtu = 1500;
  made.up = true;
  made.link_up = true;
  made.gids = {Gid::from_ipv4(kAddress)};
  return made;
}

DeviceDescription device(const Interface& interface) {
  DeviceDescription made;
  made.name = "urxe_" + interface.name;
  made.ifname = interface.name;
  made.ifindex = interface.ifindex;
  made.mtu = interface.mtu;
  made.gids = interface.gids;
  made.link_up = interface.link_up;
  return made;
}

TEST(DoctorInterfaces, TellsThePathMtuThatFollows) {
  const Interface eth0 = interface("eth0", 2);
  EXPECT_EQ(
      judge_interfaces({eth0}, {device(eth0)}, false),
      Findings{ok("interface", "eth0 is urxe_eth0: MTU 1500, path MTU 1024, GID 0 10.0.0.1")});
}

TEST(DoctorInterfaces, NoDeviceAtAllIsAProblem) {
  Interface lo = interface("lo", 1);
  lo.up = false;
  lo.gids.clear();
  const Findings findings = judge_interfaces({lo}, {}, false);
  ASSERT_EQ(findings.size(), 2u);
  EXPECT_EQ(findings[0].level, Level::kProblem);
  EXPECT_EQ(findings[1], note("interface", "lo is down, so it is no device", "ip link set lo up"));
}

TEST(DoctorInterfaces, TellsWhyAnInterfaceIsNoDevice) {
  const Interface eth0 = interface("eth0", 2);
  Interface eth1 = interface("eth1", 3);
  eth1.gids.clear();
  EXPECT_EQ(judge_interfaces({eth0, eth1}, {device(eth0)}, false).size(), 2u);
  EXPECT_EQ(judge_interfaces({eth0, eth1}, {device(eth0)}, true).size(), 1u);
  eth1.up = false;
  EXPECT_EQ(judge_interfaces({eth0, eth1}, {device(eth0)}, false).size(), 1u);
  Interface port = interface("veth0", 4);
  port.is_port = true;
  EXPECT_EQ(
      judge_interfaces({eth0, port}, {device(eth0)}, false)[1],
      ok("interface",
         "veth0 is a port of a bridge or bond, so it is no device unless --device asks for it"));
}

TEST(DoctorInterfaces, TellsWhatIsWrongWithADevice) {
  const Interface eth0 = interface("eth0", 2);
  DeviceDescription down = device(eth0);
  down.link_up = false;
  EXPECT_EQ(judge_interfaces({eth0}, {down}, false)[0].level, Level::kNote);
  DeviceDescription small = device(eth0);
  small.mtu = 300;
  const Finding finding = judge_interfaces({eth0}, {small}, false)[0];
  EXPECT_EQ(finding.level, Level::kProblem);
  EXPECT_NE(finding.what.find("up to 344 bytes, so only short messages get out"), std::string::npos)
      << finding.what;
  DeviceDescription bare = device(eth0);
  bare.gids.clear();
  EXPECT_EQ(judge_interfaces({eth0}, {bare}, false)[0].level, Level::kProblem);
}

}  // namespace
}  // namespace urxe::doctor
