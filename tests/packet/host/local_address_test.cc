// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/local_address.h"

#include <gtest/gtest.h>
#include <ifaddrs.h>
#include <net/if.h>
#include <netinet/in.h>

#include "packet/host/socket_address.h"

namespace urxe::test {
namespace {

Gid ipv4(uint8_t a, uint8_t b, uint8_t c, uint8_t d) {
  const uint8_t address[4] = {a, b, c, d};
  return Gid::from_ipv4(address);
}

// Expect: every address that an interface has, and no other.
TEST(LocalAddress, IsThatOfAnInterface) {
  ifaddrs* interfaces = nullptr;
  ASSERT_EQ(getifaddrs(&interfaces), 0);
  for (const ifaddrs* i = interfaces; i != nullptr; i = i->ifa_next) {
    if (i->ifa_addr == nullptr || (i->ifa_flags & IFF_UP) == 0) continue;
    Gid address;
    if (i->ifa_addr->sa_family == AF_INET) {
      const auto* const bytes = &reinterpret_cast<const sockaddr_in*>(i->ifa_addr)->sin_addr;
      address = Gid::from_ipv4(reinterpret_cast<const uint8_t*>(bytes));
    } else if (i->ifa_addr->sa_family == AF_INET6) {
      address =
          Gid::from_ipv6(reinterpret_cast<const sockaddr_in6*>(i->ifa_addr)->sin6_addr.s6_addr);
    }
    if (address.is_zero() || address.is_ipv6_link_local()) continue;
    EXPECT_TRUE(is_address_of_this_host(address)) << address.to_string();
  }
  freeifaddrs(interfaces);
  EXPECT_TRUE(is_address_of_this_host(ipv4(127, 9, 8, 7)));
  EXPECT_FALSE(is_address_of_this_host(ipv4(192, 0, 2, 7)));  // RFC 5737: nobody has it
  EXPECT_FALSE(is_address_of_this_host(ipv4(224, 0, 0, 1)));
}

}  // namespace
}  // namespace urxe::test
