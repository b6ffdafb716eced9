// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/arguments.h"

#include <gtest/gtest.h>

namespace urxe::test {
namespace {

std::string refusal(std::string_view text) {
  const auto parsed = parse_dpdk_arguments(text);
  return parsed ? "" : parsed.error();
}

TEST(DpdkArguments, EmptyIsNothing) {
  const auto parsed = parse_dpdk_arguments(" \t ");
  ASSERT_TRUE(parsed);
  EXPECT_TRUE(parsed->eal.empty());
  EXPECT_TRUE(parsed->ports.empty());
}

TEST(DpdkArguments, SplitsAtBlanksOutsideOfQuotationMarks) {
  const auto parsed = parse_dpdk_arguments("  -l 2 --vdev='net_tap0,iface=a b'  \"\" x\"y z\"");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->eal,
            (std::vector<std::string>{"-l", "2", "--vdev=net_tap0,iface=a b", "", "xy z"}));
  EXPECT_NE(refusal("--vdev='net"), "");
}

TEST(DpdkArguments, ReadsTheWordsOfThePort) {
  const auto parsed = parse_dpdk_arguments(
      "--vdev=net_memif0 -- address=10.0.0.1/24,fd00::1/64 gateway=10.0.0.254,fd00::ff mtu=4200 "
      "address=192.168.7.1/31");
  ASSERT_TRUE(parsed) << parsed.error();
  EXPECT_EQ(parsed->eal, (std::vector<std::string>{"--vdev=net_memif0"}));
  ASSERT_EQ(parsed->ports.size(), 1U);
  const PortWords& words = parsed->ports[0];
  EXPECT_EQ(words.port, "");
  EXPECT_EQ(words.mtu, 4200U);
  ASSERT_EQ(words.addresses.size(), 3U);
  EXPECT_EQ(words.addresses[0].address.to_string(), "10.0.0.1");
  EXPECT_EQ(words.addresses[0].prefix_bits, 96 + 24);
  EXPECT_EQ(words.addresses[1].prefix_bits, 64);
  EXPECT_EQ(words.addresses[2].prefix_bits, 127);
  ASSERT_EQ(words.gateways.size(), 2U);
  EXPECT_EQ(words.gateways[1].to_string(), "fd00::ff");
}

TEST(DpdkArguments, SeveralPortsHaveWordsOfTheirOwn) {
  const auto parsed =
      parse_dpdk_arguments("-- port=a address=10.0.0.1/24 port=b address=10.0.1.1/24 mtu=9000");
  ASSERT_TRUE(parsed) << parsed.error();
  ASSERT_EQ(parsed->ports.size(), 2U);
  EXPECT_EQ(parsed->words_of("a", 2)->mtu, 0U);
  EXPECT_EQ(parsed->words_of("b", 2)->mtu, 9000U);
  EXPECT_FALSE(parsed->words_of("c", 3));
}

// Expect: words without a name are for a port that is alone.
TEST(DpdkArguments, WordsWithoutANameAreOfTheOnlyPort) {
  const auto parsed = parse_dpdk_arguments("-- address=10.0.0.1/24");
  ASSERT_TRUE(parsed);
  EXPECT_EQ(parsed->words_of("any", 1)->addresses.size(), 1U);
  EXPECT_FALSE(parsed->words_of("any", 2));
  EXPECT_TRUE(parse_dpdk_arguments("-l 1")->words_of("any", 2)->addresses.empty());
}

TEST(DpdkArguments, RefusesWhatMakesNoSense) {
  for (const char* words : {"address=10.0.0.1",
                            "address=10.0.0.1/33",
                            "address=10.0.0.1/",
                            "address=/24",
                            "address=",
                            "address=fd00::1/129",
                            "address=10.0.0/24",
                            "address=224.0.0.1/24",
                            "address=ff02::1/64",
                            "address=0.0.0.0/8",
                            "address=::/64",
                            "address=10.0.0.1/24,10.0.0.1/16",
                            "address=10.0.0.1/024x",
                            "mtu=",
                            "mtu=575",
                            "mtu=9601",
                            "mtu=x",
                            "mtu=-1",
                            "mtu=99999999999999999999",
                            "gateway=",
                            "gateway=10.0.0.1/24",
                            "gateway=224.0.0.1",
                            "address",
                            "colour=red",
                            "port=",
                            "address=10.0.0.1/24 gateway=10.1.0.1",
                            "gateway=10.0.0.1",
                            "address=10.0.0.1/8 gateway=10.0.0.2 gateway=10.0.0.3",
                            "address=10.0.0.1/24 port=a",
                            "port=a port=a",
                            "--"}) {
    EXPECT_NE(refusal(std::string("-- ") + words), "") << words;
  }
  EXPECT_NE(refusal(std::string(20000, 'x')), "");
}

TEST(IpNetwork, ContainsItsNeighbours) {
  const auto contains = [](const char* network, const char* address) {
    return parse_ip_network(network)->contains(*parse_ip_address(address));
  };
  EXPECT_TRUE(contains("10.0.0.1/24", "10.0.0.255"));
  EXPECT_FALSE(contains("10.0.0.1/24", "10.0.1.1"));
  EXPECT_TRUE(contains("10.0.0.1/30", "10.0.0.3"));
  EXPECT_FALSE(contains("10.0.0.1/30", "10.0.0.4"));
  EXPECT_FALSE(contains("10.0.0.1/32", "10.0.0.2"));
  EXPECT_TRUE(contains("10.0.0.1/0", "192.0.2.1"));
  EXPECT_FALSE(contains("10.0.0.1/0", "fd00::1"));
  EXPECT_TRUE(contains("fd00::1/64", "fd00::ffff:1"));
  EXPECT_FALSE(contains("fd00::1/65", "fd00::8000:0:0:1"));
}

}  // namespace
}  // namespace urxe::test
