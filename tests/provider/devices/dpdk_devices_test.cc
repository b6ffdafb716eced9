// SPDX-License-Identifier: BSD-2-Clause
// The devices that ports of DPDK become.
#include <gtest/gtest.h>

#include "provider/devices/device_list.h"
#include "provider/devices/sysfs_tree.h"

namespace urxe {
namespace {

Gid gid(const char* text) {
  return *parse_ip_address(text);
}

DpdkPort memif(const std::string& name) {
  return {.name = name,
          .mtu = 4200,
          .addresses = {*parse_ip_network("fd00::1/64"), *parse_ip_network("10.0.0.1/24")},
          .gateways = {gid("10.0.0.254")}};
}

Interface interface_eth0() {
  Interface interface;
  interface.name = "eth0";
  interface.ifindex = 7;
  interface.mtu = 9000;
  interface.up = interface.link_up = true;
  interface.gids = {gid("fe80::1"), gid("192.0.2.1")};
  return interface;
}

TEST(DpdkDevices, APortHasItsOwnAddresses) {
  const auto devices = choose_dpdk_devices({memif("net_memif0")}, {interface_eth0()}, {}, {}, "a");
  ASSERT_TRUE(devices) << devices.error();
  ASSERT_EQ(devices->size(), 1U);
  const DeviceDescription& device = devices->front();
  EXPECT_EQ(device.name, "urxe_memif0");
  EXPECT_EQ(device.port, "net_memif0");
  EXPECT_EQ(device.mtu, 4200U);
  EXPECT_TRUE(device.is_fixed());
  EXPECT_EQ(device.gids, (std::vector<Gid>{gid("10.0.0.1"), gid("fd00::1")})) << "IPv4 first";
  EXPECT_EQ(device.networks.size(), 2U);
  EXPECT_EQ(device.gateways.size(), 1U);
  EXPECT_GT(device.ifindex, 0x3fffffffU) << "none of the kernel's";
  EXPECT_TRUE(parse_device(format_device(device)).has_value());
}

TEST(DpdkDevices, APortOfTheKernelsInterfaceHasItsAddresses) {
  const DpdkPort port{
      .name = "net_af_packet0", .interface_index = 7, .mtu = 9000, .addresses = {}, .gateways = {}};
  const auto devices = choose_dpdk_devices({port}, {interface_eth0()}, {}, {}, "a");
  ASSERT_TRUE(devices) << devices.error();
  const DeviceDescription& device = devices->front();
  EXPECT_EQ(device.name, "urxe_af_packet0");
  EXPECT_EQ(device.ifname, "eth0");
  EXPECT_EQ(device.ifindex, 7U);
  EXPECT_FALSE(device.is_fixed());
  EXPECT_EQ(device.gids, interface_eth0().gids);
}

// The defect: the device had the interface's MTU, and the port the one that was asked for.
TEST(DpdkDevices, APortMayHaveLessThanItsInterfacesMtu) {
  Interface interface = interface_eth0();
  interface.mtu = 9000;
  const DpdkPort port{
      .name = "net_af_packet0", .interface_index = 7, .mtu = 1500, .addresses = {}, .gateways = {}};
  const auto devices = choose_dpdk_devices({port}, {interface}, {}, {}, "a");
  ASSERT_TRUE(devices) << devices.error();
  EXPECT_EQ(devices->front().mtu, 1500U);
  const auto read = parse_device(format_device(devices->front()));
  ASSERT_TRUE(read) << read.error();
  EXPECT_EQ(*read, devices->front());
  EXPECT_EQ(follow_interface(*read, &interface).mtu, 1500U);
  interface.mtu = 1400;
  EXPECT_EQ(follow_interface(*read, &interface).mtu, 1400U);
}

// Expect: other arguments make other devices, so that two programs' trees are not one.
TEST(DpdkDevices, TheGuidTellsArgumentsApart) {
  const auto guid = [](const char* identity) {
    return choose_dpdk_devices({memif("net_memif0")}, {}, {}, {}, identity)->front().node_guid;
  };
  EXPECT_EQ(guid("a"), guid("a"));
  EXPECT_NE(guid("a"), guid("b"));
}

TEST(DpdkDevices, RequestsNamePorts) {
  const std::vector<DpdkPort> ports = {memif("net_memif0"), memif("net_memif1")};
  const auto devices = choose_dpdk_devices(ports, {}, {{"mine", "net_memif1"}}, {}, "a");
  ASSERT_TRUE(devices);
  ASSERT_EQ(devices->size(), 1U);
  EXPECT_EQ(devices->front().name, "mine");
  EXPECT_EQ(devices->front().port, "net_memif1");
  EXPECT_EQ(choose_dpdk_devices(ports, {}, {}, {"urxe_memif0"}, "a")->front().name,
            "urxe_memif0_dpdk");
  for (const std::vector<DeviceRequest>& wrong : {std::vector<DeviceRequest>{{"x", "net_memif2"}},
                                                  {{"x", "net_memif0"}, {"x", "net_memif1"}},
                                                  {{"x", "net_memif0"}, {"y", "net_memif0"}},
                                                  {{"real", "net_memif0"}}}) {
    EXPECT_FALSE(choose_dpdk_devices(ports, {}, wrong, {"real"}, "a")) << wrong[0].ifname;
  }
}

TEST(DpdkDevices, APortNeedsAnAddress) {
  DpdkPort port = memif("net_memif0");
  port.addresses.clear();
  EXPECT_FALSE(choose_dpdk_devices({port}, {interface_eth0()}, {}, {}, "a"));
  port.interface_index = 8;  // gone meanwhile
  EXPECT_FALSE(choose_dpdk_devices({port}, {interface_eth0()}, {}, {}, "a"));
}

// Expect: sysfs leads to no interface that does not exist.
TEST(DpdkDevices, TheTreeHasNoInterface) {
  const auto devices = choose_dpdk_devices({memif("net_memif0")}, {}, {}, {}, "a");
  ASSERT_TRUE(devices);
  for (const auto& [path, target] : describe_tree(*devices, {}).links) {
    EXPECT_EQ(target.find("/sys/class/net"), std::string::npos) << path;
  }
}

}  // namespace
}  // namespace urxe
