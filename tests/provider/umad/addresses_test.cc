// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/addresses.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>

#include <vector>

namespace urxe::umad {
namespace {

Gid gid(const char* text) {
  uint8_t bytes[16];
  EXPECT_EQ(inet_pton(AF_INET6, text, bytes), 1) << text;
  return Gid::from_ipv6(bytes);
}

TEST(UmadAddresses, PortGuidOfAnIpv4AddressMeansThat) {
  EXPECT_EQ(gid_of_port(gid("fe80::ffff:192.0.2.1")), gid("::ffff:192.0.2.1"));
  for (const char* other : {"fe80::fc:ff:fe00:1", "::ffff:192.0.2.1", "2001:db8::ffff:c000:201",
                            "fe80:1::ffff:c000:201"}) {
    EXPECT_EQ(gid_of_port(gid(other)), gid(other));
  }
}

TEST(UmadAddresses, SourceIsOfTheSameKind) {
  const std::vector<Gid> own{gid("fe80::1"), gid("::ffff:192.0.2.1"), gid("::ffff:192.0.2.7"),
                             gid("2001:db8::1"), Gid{}};
  EXPECT_EQ(source_for(gid("::ffff:192.0.2.9"), own, 0), own[1]);
  EXPECT_EQ(source_for(gid("::ffff:192.0.2.9"), own, 2), own[2]) << "as wanted";
  EXPECT_EQ(source_for(gid("fe80::9"), own, 2), own[0]);
  EXPECT_EQ(source_for(gid("2001:db8::9"), own, 99), own[3]);
  EXPECT_EQ(source_for(gid("2001:db8::9"), std::span(own).first(3), 0), std::nullopt);
}

TEST(UmadAddresses, GroupIsNoDestination) {
  EXPECT_TRUE(is_destination(gid("fe80::1")));
  EXPECT_FALSE(is_destination(Gid{}));
  EXPECT_FALSE(is_destination(gid("ff02::1")));
  EXPECT_FALSE(is_destination(gid("::ffff:224.0.0.1")));
}

}  // namespace
}  // namespace urxe::umad
