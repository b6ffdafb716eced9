// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/device_list.h"

#include <gtest/gtest.h>

#include "provider/devices/identity.h"
#include "provider/devices/interface_sysfs.h"
#include "provider/devices/link_rate.h"

namespace urxe {
namespace {

Gid some_gid() {
  const uint8_t address[4] = {192, 0, 2, 1};
  return Gid::from_ipv4(address);
}

/// An interface that no machine has, up and with an address.
Interface interface_named(const std::string& name, uint32_t ifindex) {
  Interface interface;
  interface.name = name;
  interface.ifindex = ifindex;
  interface.mtu = 1500;
  interface.up = true;
  interface.link_up = true;
  interface.is_virtual = true;
  interface.gids = {some_gid()};
  return interface;
}

std::vector<std::string> names_of(const std::vector<DeviceDescription>& devices) {
  std::vector<std::string> names;
  names.reserve(devices.size());
  for (const auto& device : devices) names.push_back(device.name);
  return names;
}

TEST(FollowInterface, KeepsNamesAndNumbers) {
  const auto was = choose_devices({interface_named("x0", 5)}, {{"mine", "x0"}}, {})->front();
  auto changed = interface_named("y0", 5);
  changed.mtu = 9000;
  changed.link_up = false;
  changed.gids = {};
  const auto now = follow_interface(was, &changed);
  EXPECT_EQ(now.name, "mine");
  EXPECT_EQ(now.node_guid, was.node_guid);
  EXPECT_EQ(now.ifname, "y0");
  EXPECT_EQ(now.mtu, 9000u);
  EXPECT_FALSE(now.link_up);
  EXPECT_FALSE(now.gone);
  EXPECT_TRUE(now.gids.empty());
}

TEST(FollowInterface, OneThatIsGone) {
  const auto interface = interface_named("x0", 5);
  const auto was = choose_devices({interface}, {}, {})->front();
  const auto now = follow_interface(was, nullptr);
  EXPECT_TRUE(now.gone);
  EXPECT_FALSE(now.link_up);
  EXPECT_TRUE(now.gids.empty());
  EXPECT_EQ(follow_interface(now, &interface), was);
}

TEST(ChooseDevices, OneForEachInterfaceThatIsUpWithAnAddress) {
  auto down = interface_named("down0", 7);
  down.up = false;
  auto bare = interface_named("bare0", 8);
  bare.gids.clear();
  auto devices =
      choose_devices({interface_named("x0", 5), down, bare, interface_named("y.7", 9)}, {}, {});
  ASSERT_TRUE(devices.has_value());
  EXPECT_EQ(names_of(*devices), (std::vector<std::string>{"urxe_x0", "urxe_y.7"}));
  EXPECT_EQ((*devices)[0].ifname, "x0");
  EXPECT_EQ((*devices)[0].ifindex, 5u);
  EXPECT_EQ((*devices)[0].mtu, 1500u);
}

Interface loopback() {
  auto lo = interface_named("lo", 1);
  lo.is_loopback = true;
  return lo;
}

TEST(ChooseDevices, LoopbackIsLeftOutBesideALinkToOthers) {
  auto cut_off = interface_named("x0", 5);
  cut_off.link_up = false;
  auto bare = interface_named("bare0", 6);
  bare.gids.clear();
  const auto names = [](const std::vector<Interface>& interfaces,
                        const std::vector<DeviceRequest>& requests = {}) {
    return names_of(*choose_devices(interfaces, requests, {}));
  };
  using Names = std::vector<std::string>;
  EXPECT_EQ(names({loopback()}), Names{"urxe_lo"});
  EXPECT_EQ(names({loopback(), interface_named("x1", 7)}), Names{"urxe_x1"});
  EXPECT_EQ(names({loopback(), bare}), Names{"urxe_lo"});
  EXPECT_EQ(names({loopback(), cut_off}), (Names{"urxe_lo", "urxe_x0"}));
  EXPECT_EQ(names({loopback(), cut_off, interface_named("x1", 7)}), (Names{"urxe_x0", "urxe_x1"}));
  EXPECT_EQ(names({loopback(), interface_named("x1", 7)}, {{"urxe_lo", "lo"}}), Names{"urxe_lo"});
}

// A bridge takes the frames of its ports: of a host with containers, each has one.
TEST(ChooseDevices, PortsOfBridgesAreLeftOutUnlessAskedFor) {
  auto port = interface_named("veth0", 5);
  port.is_port = true;
  using Names = std::vector<std::string>;
  EXPECT_EQ(names_of(*choose_devices({loopback(), port}, {}, {})), Names{"urxe_lo"});
  EXPECT_EQ(names_of(*choose_devices({port, interface_named("br0", 6)}, {}, {})),
            Names{"urxe_br0"});
  EXPECT_EQ(names_of(*choose_devices({port}, {{"urxe_veth0", "veth0"}}, {})), Names{"urxe_veth0"});
}

TEST(ChooseDevices, NamesDoNotCollide) {
  auto devices = choose_devices(
      {interface_named("a:b", 5), interface_named("a_b", 6), interface_named("c", 7)}, {},
      {"urxe_c"});
  ASSERT_TRUE(devices.has_value());
  EXPECT_EQ(names_of(*devices), (std::vector<std::string>{"urxe_a_b", "urxe_a_b_6", "urxe_c_7"}));
}

TEST(ChooseDevices, RequestsRestrictRenameAndOrder) {
  auto devices =
      choose_devices({interface_named("x0", 5), interface_named("x1", 6), interface_named("x2", 7)},
                     {{"second", "x1"}, {"first", "x0"}}, {});
  ASSERT_TRUE(devices.has_value());
  EXPECT_EQ(names_of(*devices), (std::vector<std::string>{"second", "first"}));
  EXPECT_EQ((*devices)[0].ifindex, 6u);
}

TEST(ChooseDevices, RefusesWhatCannotBe) {
  auto down = interface_named("down0", 7);
  down.up = false;
  auto bare = interface_named("bare0", 8);
  bare.gids.clear();
  std::vector<Interface> interfaces{interface_named("x0", 5), interface_named("x1", 6), down, bare};
  auto why = [&](const std::vector<DeviceRequest>& requests) {
    auto devices = choose_devices(interfaces, requests, {"mlx5_0"});
    return devices ? "accepted" : devices.error();
  };
  EXPECT_EQ(why({{"a", "x0"}}), "accepted");
  EXPECT_EQ(why({{"a", "none"}}), "there is no interface 'none'");
  EXPECT_EQ(why({{"a", "down0"}}), "interface 'down0' is down");
  EXPECT_EQ(why({{"a", "bare0"}}), "interface 'bare0' has no IP address");
  EXPECT_EQ(why({{"a", "x0"}, {"a", "x1"}}), "device 'a' is named twice");
  EXPECT_EQ(why({{"a", "x0"}, {"b", "x0"}}), "interface 'x0' can be only one device");
  EXPECT_EQ(why({{"mlx5_0", "x0"}}), "there is a real device 'mlx5_0'");
}

TEST(ChooseDevices, GuidTellsTheVendorAndFollowsFromTheAddress) {
  auto interface = interface_named("x0", 5);
  interface.mac = {0x02, 0xfc, 0x00, 0x00, 0x00, 0x01};
  const auto guid = (*choose_devices({interface}, {}, {}))[0].node_guid;
  EXPECT_EQ(guid & kNodeGuidMask, kNodeGuidValue);
  interface.name = "renamed0";
  EXPECT_EQ((*choose_devices({interface}, {}, {}))[0].node_guid, guid);
  interface.mac->back() = 2;
  EXPECT_NE((*choose_devices({interface}, {}, {}))[0].node_guid, guid);
}

TEST(ChooseDevices, InventedGuidsAreLocalStableAndDistinct) {
  auto vlan = interface_named("x0.5", 6);
  auto lower = interface_named("x0", 5);
  vlan.mac = lower.mac = {0x00, 0x11, 0x22, 0x33, 0x44, 0x55};
  auto once = choose_devices({lower, vlan, interface_named("z", 9)}, {}, {});
  auto again = choose_devices({lower, vlan, interface_named("z", 9)}, {}, {});
  ASSERT_TRUE(once.has_value());
  EXPECT_EQ(*once, *again);
  EXPECT_NE((*once)[0].node_guid, (*once)[1].node_guid);
  for (size_t i : {1, 2}) EXPECT_EQ((*once)[i].node_guid >> 56 & 3, 2u) << i;
}

TEST(DeviceRequest, Parses) {
  auto request = parse_device_request("rocep1=eth0");
  ASSERT_TRUE(request.has_value());
  EXPECT_EQ(request->name, "rocep1");
  EXPECT_EQ(request->ifname, "eth0");
  for (const char* bad : {"", "=eth0", "a=", "a/b=eth0", ".=eth0", "a b=eth0"}) {
    EXPECT_FALSE(parse_device_request(bad).has_value()) << bad;
  }
  EXPECT_FALSE(parse_device_request("a.counters=lo")) << "the name of a table";
  EXPECT_EQ(default_device_name("eth0.counters"), "urxe_eth0.counter_");
  EXPECT_TRUE(parse_device_request(std::string(63, 'n') + "=lo").has_value());
  EXPECT_FALSE(parse_device_request(std::string(64, 'n') + "=lo").has_value());
}

TEST(DeviceRequest, AnInterfaceAloneHasItsDefaultName) {
  const auto request = parse_device_request("eth0.7");
  ASSERT_TRUE(request.has_value()) << request.error();
  EXPECT_EQ(request->name, "urxe_eth0.7");
  EXPECT_EQ(request->ifname, "eth0.7");
}

TEST(LinkRate, ClosestAndNeverBelowTen) {
  EXPECT_STREQ(closest_link_rate(std::nullopt).text, "100 Gb/sec (4X EDR)");
  EXPECT_EQ(closest_link_rate(100).mbps, 10000u);
  EXPECT_EQ(closest_link_rate(1000).mbps, 10000u);
  EXPECT_EQ(closest_link_rate(25000).mbps, 25000u);
  EXPECT_EQ(closest_link_rate(40000).mbps, 40000u);
  EXPECT_EQ(closest_link_rate(100000).mbps, 100000u);
  EXPECT_EQ(closest_link_rate(800000).mbps, 400000u);
}

TEST(CpuMask, OfList) {
  EXPECT_EQ(cpu_mask_of_list("0"), "1");
  EXPECT_EQ(cpu_mask_of_list("0-2,5"), "27");
  EXPECT_EQ(cpu_mask_of_list("0,32-33"), "00000003,00000001");
  for (const char* bad : {"x", "3-1", "-1", "1-", "99999999"})
    EXPECT_EQ(cpu_mask_of_list(bad), "") << bad;
}

}  // namespace
}  // namespace urxe
