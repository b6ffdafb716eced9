// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/gid_source.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

namespace urxe::gid_source_test {
namespace {

Gid gid(const char* text) {
  uint8_t bytes[16] = {};
  if (inet_pton(AF_INET, text, bytes) == 1) return Gid::from_ipv4(bytes);
  EXPECT_EQ(inet_pton(AF_INET6, text, bytes), 1) << text;
  return Gid::from_ipv6(bytes);
}

TEST(OrderGids, LinkLocalThenIpv4ThenIpv6) {
  EXPECT_EQ(order_gids({{gid("2001:db8::2")},
                        {gid("192.0.2.1")},
                        {gid("fe80::1")},
                        {gid("2001:db8::1")},
                        {gid("192.0.2.9")}}),
            (std::vector<Gid>{gid("fe80::1"), gid("192.0.2.1"), gid("192.0.2.9"),
                              gid("2001:db8::2"), gid("2001:db8::1")}));
}

TEST(OrderGids, OnlyTheFirstLinkLocalAddressComesFirst) {
  EXPECT_EQ(order_gids({{gid("fe80::2")}, {gid("192.0.2.1")}, {gid("fe80::1")}}),
            (std::vector<Gid>{gid("fe80::2"), gid("192.0.2.1"), gid("fe80::1")}));
}

TEST(OrderGids, Loopback) {
  EXPECT_EQ(order_gids({{gid("127.0.0.1")}, {gid("::1")}}),
            (std::vector<Gid>{gid("127.0.0.1"), gid("::1")}));
}

TEST(OrderGids, LeavesOutUnusableAndRepeatedAddresses) {
  EXPECT_EQ(order_gids({{gid("fe80::1"), false},
                        {gid("192.0.2.1")},
                        {gid("192.0.2.1")},
                        {gid("2001:db8::1"), false}}),
            (std::vector<Gid>{gid("192.0.2.1")}));
}

TEST(MergeGids, KeepsIndexesAndFillsHoles) {
  const std::vector<Gid> old = {gid("fe80::1"), gid("192.0.2.1"), gid("192.0.2.2")};
  const auto shrunk = merge_gids(old, {gid("fe80::1"), gid("192.0.2.2")}, 8);
  EXPECT_EQ(shrunk, (std::vector<Gid>{gid("fe80::1"), Gid{}, gid("192.0.2.2")}));
  EXPECT_EQ(merge_gids(shrunk, {gid("192.0.2.2"), gid("::2"), gid("::3"), gid("fe80::1")}, 8),
            (std::vector<Gid>{gid("fe80::1"), gid("::2"), gid("192.0.2.2"), gid("::3")}));
}

TEST(MergeGids, IsIdempotent) {
  const std::vector<Gid> now = {gid("fe80::1"), gid("192.0.2.1")};
  const auto once = merge_gids({gid("192.0.2.1"), gid("::7"), gid("::8")}, now, 8);
  EXPECT_EQ(once, (std::vector<Gid>{gid("192.0.2.1"), gid("fe80::1")}));
  EXPECT_EQ(merge_gids(once, now, 8), once);
}

TEST(MergeGids, AnEntryThatIsGoneAndBackHasItsPlaceIfItIsFree) {
  const std::vector<Gid> full = {gid("::1"), gid("::2"), gid("::3")};
  const auto without = merge_gids(full, {gid("::1"), gid("::3")}, 8);
  EXPECT_EQ(merge_gids(without, full, 8), full);
}

TEST(MergeGids, LeavesOutWhatDoesNotFit) {
  const auto merged = merge_gids({gid("::1")}, {gid("::2"), gid("::3"), gid("::4")}, 2);
  EXPECT_EQ(merged, (std::vector<Gid>{gid("::2"), gid("::3")}));
  EXPECT_EQ(merge_gids(merged, {}, 2), std::vector<Gid>());
}

TEST(ListInterfaces, HasLoopback) {
  auto interfaces = list_interfaces();
  ASSERT_TRUE(interfaces.has_value()) << interfaces.error();
  bool found = false;
  for (const Interface& interface : *interfaces) {
    if (interface.name != "lo") continue;
    found = true;
    EXPECT_TRUE(interface.is_virtual);
    EXPECT_FALSE(interface.mac.has_value());
    EXPECT_GT(interface.mtu, 0u);
  }
  EXPECT_TRUE(found);
}

}  // namespace
}  // namespace urxe::gid_source_test
