// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/gid.h"

#include <gtest/gtest.h>

#include "packet/wire/ip/ip_network.h"

namespace urxe {
namespace {

Gid v4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  const uint8_t address[4] = {a, b, c, d};
  return Gid::from_ipv4(address);
}

Gid v6(uint8_t first, uint8_t second, uint8_t last) {
  uint8_t address[16] = {first, second};
  address[15] = last;
  return Gid::from_ipv6(address);
}

TEST(Gid, Ipv4IsMapped) {
  const Gid gid = v4(192, 0, 2, 1);
  EXPECT_TRUE(gid.is_ipv4());
  EXPECT_FALSE(gid.is_zero());
  EXPECT_EQ(gid.bytes[9], 0);
  EXPECT_EQ(gid.bytes[10], 0xff);
  EXPECT_EQ(gid.bytes[11], 0xff);
  EXPECT_EQ(gid.ipv4()[0], 192);
  EXPECT_EQ(gid.to_string(), "192.0.2.1");
}

TEST(Gid, Ipv6StandsAsItIs) {
  const Gid gid = v6(0x20, 0x01, 1);
  EXPECT_FALSE(gid.is_ipv4());
  EXPECT_EQ(gid.to_string(), "2001::1");
  EXPECT_TRUE(Gid{}.is_zero());
  EXPECT_EQ(Gid{}.to_string(), "::");
}

TEST(Gid, SomeAreNoSources) {
  const auto of = [](uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
    const uint8_t bytes[4] = {a, b, c, d};
    return Gid::from_ipv4(bytes);
  };
  for (const Gid& gid : {of(127, 0, 0, 1), of(0, 0, 0, 0), of(0, 1, 2, 3), of(224, 0, 0, 1),
                         of(255, 255, 255, 255), Gid{}}) {
    EXPECT_TRUE(is_no_source(gid)) << gid.to_string();
  }
  for (const Gid& gid : {of(10, 0, 0, 1), of(10, 255, 255, 255), of(192, 0, 2, 255)}) {
    EXPECT_FALSE(is_no_source(gid)) << gid.to_string();
  }
}

TEST(Gid, LinkLocalIsTenBits) {
  EXPECT_TRUE(v6(0xfe, 0x80, 1).is_ipv6_link_local());
  EXPECT_TRUE(v6(0xfe, 0xbf, 1).is_ipv6_link_local());
  EXPECT_FALSE(v6(0xfe, 0xc0, 1).is_ipv6_link_local());
  EXPECT_FALSE(v6(0xff, 0x80, 1).is_ipv6_link_local());
  EXPECT_FALSE(v4(169, 254, 0, 1).is_ipv6_link_local());
}

TEST(Gid, Multicast) {
  EXPECT_TRUE(v6(0xff, 0x0e, 1).is_multicast());
  EXPECT_FALSE(v6(0xfe, 0x80, 1).is_multicast());
  EXPECT_TRUE(v4(224, 0, 0, 1).is_multicast());
  EXPECT_TRUE(v4(239, 255, 255, 255).is_multicast());
  EXPECT_FALSE(v4(240, 0, 0, 1).is_multicast());
  EXPECT_FALSE(v4(223, 255, 255, 255).is_multicast());
}

// Expect: hosts of one network share a key, and neighbours on a link, and IPv4 hosts, do not.
TEST(Gid, BoundsPerSourceAreOfAnIpv6Network) {
  const auto network = [](const char* text) { return source_network(*parse_ip_address(text)); };
  EXPECT_EQ(network("fd00::1:2:3:4"), *parse_ip_address("fd00::"));
  EXPECT_EQ(network("fd00:0:0:1::1"), *parse_ip_address("fd00:0:0:1::"));
  EXPECT_NE(network("fe80::1"), network("fe80::2"));
  EXPECT_NE(network("10.0.0.1"), network("10.0.0.2"));
}

}  // namespace
}  // namespace urxe
