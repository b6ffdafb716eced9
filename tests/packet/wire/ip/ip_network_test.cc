// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/ip/ip_network.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

bool contains(const char* network, const char* address) {
  const auto parsed = parse_ip_network(network);
  EXPECT_TRUE(parsed) << network;
  return parsed && parsed->contains(*parse_ip_address(address));
}

TEST(IpNetwork, ContainsWhatAgreesInAllBitsOfThePrefix) {
  EXPECT_TRUE(contains("10.1.16.7/20", "10.1.31.255"));
  EXPECT_FALSE(contains("10.1.16.7/20", "10.1.32.0"));
  EXPECT_FALSE(contains("10.1.16.7/20", "10.2.16.7"));
  EXPECT_TRUE(contains("10.1.16.7/32", "10.1.16.7"));
  EXPECT_FALSE(contains("10.1.16.7/32", "10.1.16.6"));
  EXPECT_TRUE(contains("10.1.16.7/0", "192.0.2.1"));
  EXPECT_FALSE(contains("10.1.16.7/0", "fd00::1")) << "of the other version";
  EXPECT_TRUE(contains("fd00::/65", "fd00::7fff:0:0:1"));
  EXPECT_FALSE(contains("fd00::/65", "fd00::8000:0:0:1"));
  EXPECT_FALSE(contains("fd00::1/128", "fd00::2"));
}

TEST(IpNetwork, IsAnAddressAndTheLengthOfAPrefix) {
  for (const char* text :
       {"10.1.16.7", "10.1.16.7/", "10.1.16.7/33", "10.1.16.7/255", "10.1.16.7/1x", "10.1.16.7/-1",
        "10.1.16.7/0032", "fd00::/129", "fd00::g/64", "/8", ""}) {
    EXPECT_FALSE(parse_ip_network(text)) << text;
  }
}

}  // namespace
}  // namespace urxe::test
