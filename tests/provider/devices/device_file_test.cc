// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/device_file.h"

#include <gtest/gtest.h>

namespace urxe {
namespace {

DeviceDescription sample() {
  DeviceDescription device;
  device.name = "urxe_x0";
  device.ifname = "x0";
  device.ifindex = 42;
  device.mtu = 9000;
  device.node_guid = 0x0011223344556677;
  device.speed_mbps = 25000;
  device.active_width = 1;
  device.active_speed = 128;
  device.link_up = false;
  device.uverbs_number = 193;
  for (uint8_t i = 0; i < 12; ++i) {
    Gid gid;
    gid.bytes = {0xfe, 0x80, 0, 0, 0, 0, 0, 0, 1, 2, 3, 4, 5, 6, 7, i};
    device.gids.push_back(gid);
  }
  return device;
}

TEST(DeviceFile, RoundTrip) {
  auto parsed = parse_device(format_device(sample()));
  ASSERT_TRUE(parsed.has_value()) << parsed.error();
  EXPECT_EQ(*parsed, sample());
}

DeviceDescription port_sample() {
  DeviceDescription device = sample();
  device.port = "net_memif0";
  device.networks = {*parse_ip_network("10.0.0.1/24"), *parse_ip_network("fd00::1/64")};
  device.gateways = {*parse_ip_address("10.0.0.254")};
  return device;
}

TEST(DeviceFile, RoundTripOfAPortOfDpdk) {
  auto parsed = parse_device(format_device(port_sample()));
  ASSERT_TRUE(parsed.has_value()) << parsed.error();
  EXPECT_EQ(*parsed, port_sample());
  EXPECT_TRUE(parsed->is_fixed());
  EXPECT_FALSE(sample().is_fixed());
}

TEST(DeviceFile, RefusesMalformedNetworks) {
  const std::string gid(32, '0');
  const std::vector<std::string> lines = {"network=",
                                          "network=" + gid,
                                          "network=" + gid + "/",
                                          "network=" + gid + "/129",
                                          "network=0/64",
                                          "network=/",
                                          "gateway=0",
                                          "port="};
  for (const std::string& line : lines) {
    EXPECT_FALSE(parse_device(format_device(sample()) + line + "\n")) << line;
  }
}

TEST(DeviceFile, TruncationNeverGivesAnotherDevice) {
  std::string text = format_device(sample());
  for (size_t length = 0; length < text.size(); ++length) {
    auto parsed = parse_device(text.substr(0, length));
    EXPECT_TRUE(!parsed || parsed->name == sample().name) << length;
  }
}

TEST(DeviceFile, SkipsUnknownKeys) {
  auto parsed = parse_device(format_device(sample()) + "colour=red\n");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(*parsed, sample());
}

TEST(DeviceFile, RefusesMalformedLines) {
  for (const char* line : {"mtu=x\n", "mtu=\n", "mtu\n", "gid13=00\n", "gid0=00\n", "guid=zz\n",
                           "link_up=2\n", "mtu=99999999999\n"}) {
    EXPECT_FALSE(parse_device(format_device(sample()) + line).has_value()) << line;
  }
}

TEST(DeviceFile, NamesTheMissingKey) {
  EXPECT_EQ(parse_device("ifname=x\nifindex=1\nmtu=1\n").error(), "no name");
  EXPECT_EQ(parse_device("name=x\nifindex=1\nmtu=1\n").error(), "no ifname");
  EXPECT_EQ(parse_device("name=x\nifname=x\nmtu=1\n").error(), "no ifindex");
  EXPECT_EQ(parse_device("name=x\nifname=x\nifindex=1\n").error(), "no mtu");
}

TEST(DeviceFile, MissingFileAndBadName) {
  EXPECT_FALSE(read_device("/nonexistent", "d").has_value());
  EXPECT_FALSE(read_device("/etc", "../etc/passwd").has_value());
}

}  // namespace
}  // namespace urxe
