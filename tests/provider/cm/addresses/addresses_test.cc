// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/addresses.h"

#include <arpa/inet.h>
#include <endian.h>
#include <gtest/gtest.h>
#include <netinet/in.h>

#include <cerrno>
#include <cstring>

namespace urxe::cm {
namespace {

Address ipv4(const char* text, uint16_t port = 0) {
  uint8_t bytes[4] = {};
  inet_pton(AF_INET, text, bytes);
  return make_address(AF_INET, Gid::from_ipv4(bytes), port);
}

Address ipv6(const char* text, uint16_t port = 0, uint32_t scope_id = 0) {
  uint8_t bytes[16] = {};
  inet_pton(AF_INET6, text, bytes);
  return make_address(AF_INET6, Gid::from_ipv6(bytes), port, scope_id);
}

Address ib(uint64_t service_id, uint64_t mask) {
  SockaddrIb fields;
  fields.address[15] = 7;
  fields.service_id = htobe64(service_id);
  fields.service_id_mask = htobe64(mask);
  Address address;
  std::memcpy(&address.storage, &fields, sizeof fields);
  return address;
}

SockaddrIb fields_of(const Address& address) {
  SockaddrIb fields;
  std::memcpy(static_cast<void*>(&fields), &address.storage, sizeof fields);
  return fields;
}

TEST(Addresses, AreReadFromTheirFamiliesStructures) {
  for (const Address& address : {ipv4("192.0.2.1", 7471), ipv6("fe80::1", 7471, 2),
                                 make_address(kAfIb, ipv6("2001:db8::1").gid(), 7471, 3)}) {
    SCOPED_TRACE(to_string(address));
    const auto read = read_address(address.storage, address.size());
    ASSERT_TRUE(read);
    EXPECT_EQ(read->family(), address.family());
    EXPECT_EQ(read->gid(), address.gid());
    EXPECT_EQ(read->port(), 7471);
    EXPECT_EQ(read->scope_id(), address.scope_id());
  }
}

TEST(Addresses, ThatAreTooShortAreRefused) {
  for (const Address& address : {ipv4("192.0.2.1"), ipv6("2001:db8::1"), ib(1, 1)}) {
    for (size_t size = 0; size < address.size(); ++size) {
      const auto read = read_address(address.storage, size);
      ASSERT_FALSE(read) << size;
      EXPECT_EQ(read.error().value, EINVAL) << size;
    }
    EXPECT_TRUE(read_address(address.storage, address.size()));
  }
}

TEST(Addresses, OfOtherFamiliesAreRefused) {
  sockaddr_storage storage{};
  for (int family : {AF_UNSPEC, AF_UNIX, AF_NETLINK}) {
    storage.ss_family = static_cast<sa_family_t>(family);
    const auto read = read_address(storage, sizeof storage);
    ASSERT_FALSE(read);
    EXPECT_EQ(read.error().value, EAFNOSUPPORT);
  }
}

TEST(Addresses, BytesBeyondTheStructureAreNotKept) {
  sockaddr_storage storage;
  std::memset(&storage, 0xee, sizeof storage);
  storage.ss_family = AF_INET;
  const auto read = read_address(storage, sizeof storage);
  ASSERT_TRUE(read);
  const auto* bytes = reinterpret_cast<const uint8_t*>(&read->storage);
  for (size_t i = sizeof(sockaddr_in); i < sizeof storage; ++i) ASSERT_EQ(bytes[i], 0) << i;
}

TEST(Addresses, KindsAreTold) {
  EXPECT_FALSE(Address{}.is_set());
  EXPECT_FALSE(Address{}.is_any());
  EXPECT_TRUE(ipv4("0.0.0.0").is_any());
  EXPECT_TRUE(ipv4("0.0.0.0").gid().is_zero());
  EXPECT_TRUE(ipv6("::").is_any());
  EXPECT_TRUE(make_address(kAfIb, Gid{}, 1).is_any());
  EXPECT_FALSE(ipv4("192.0.2.1").is_any());
  EXPECT_TRUE(ipv4("127.3.2.1").is_loopback());
  EXPECT_TRUE(ipv6("::1").is_loopback());
  EXPECT_FALSE(ipv6("::2").is_loopback());
  EXPECT_FALSE(ipv6("::").is_loopback());
  EXPECT_TRUE(ipv4("239.1.2.3").is_multicast());
  EXPECT_TRUE(ipv6("ff02::1").is_multicast());
  EXPECT_FALSE(ipv4("240.0.0.1").is_multicast());
  EXPECT_TRUE(ipv6("fe80::1").is_link_local());
  EXPECT_TRUE(ipv6("febf::1").is_link_local());
  EXPECT_FALSE(ipv6("fec0::1").is_link_local());
}

TEST(Addresses, AreWrittenWithPortAndScope) {
  EXPECT_EQ(to_string(ipv4("192.0.2.1", 7471)), "192.0.2.1:7471");
  EXPECT_EQ(to_string(ipv4("0.0.0.0", 1)), "0.0.0.0:1");
  EXPECT_EQ(to_string(ipv6("fe80::1", 7471, 2)), "[fe80::1%2]:7471");
  EXPECT_EQ(to_string(ipv6("::", 1)), "[::]:1");
  EXPECT_EQ(to_string(Address{}), "none");
}

TEST(Addresses, ServiceIdsHavePortSpaceAndPort) {
  EXPECT_EQ(service_of(PortSpace::kTcp, ipv4("192.0.2.1", 7471)).value(), 0x01061d2fU);
  EXPECT_EQ(service_of(PortSpace::kUdp, ipv6("::1", 7174)).value(), 0x01111c06U);
  EXPECT_EQ(service_of(PortSpace::kIpoib, ipv4("0.0.0.0", 1)).value(), 0x00020001U);
  EXPECT_EQ(service_of(PortSpace::kIb, ipv4("0.0.0.0", 1)).value(), 0x013f0001U);
}

TEST(Addresses, AnIbAddressIsItsOwnServiceId) {
  const Address address = ib(0x1122334455667788, ~uint64_t{0});
  EXPECT_EQ(service_of(PortSpace::kTcp, address).value(), 0x1122334455667788U);
  EXPECT_EQ(address.port(), 0x7788);
  EXPECT_EQ(ib(0x1122334455667788, 0xff00).port(), 0x7700) << "only what the mask leaves";
}

TEST(Addresses, SettingThePortOfAnIbAddressKeepsWhatIsAbove) {
  Address address = ib(0x1122334455667788, 0xffffffff00000000);
  address.set_port(0xabcd);
  EXPECT_EQ(service_of(PortSpace::kIb, address).value(), 0x112233440000abcdU);
  EXPECT_EQ(be64toh(fields_of(address).service_id_mask), ~uint64_t{0});
  address.set_port(1);
  EXPECT_EQ(address.port(), 1);
}

TEST(Addresses, AnotherHostKeepsTheRest) {
  const Address moved = with_host(ipv6("2001:db8::1", 7471), ipv6("fe80::2").gid(), 4);
  EXPECT_EQ(to_string(moved), "[fe80::2%4]:7471");
  EXPECT_EQ(to_string(with_host(ipv4("0.0.0.0", 7), ipv4("192.0.2.1").gid(), 4)), "192.0.2.1:7");
  const Address of_ib = with_host(ib(0x1122334455667788, 0xff00), ipv6("fe80::2").gid(), 4);
  EXPECT_EQ(service_of(PortSpace::kIb, of_ib).value(), 0x1122334455667788U);
  EXPECT_EQ(be64toh(fields_of(of_ib).service_id_mask), 0xff00U);
  EXPECT_EQ(of_ib.gid(), ipv6("fe80::2").gid());
  EXPECT_EQ(of_ib.scope_id(), 4U);
}

TEST(Addresses, AnIbAddressSaysItsPortSpace) {
  constexpr uint64_t kSpaceMask = ~uint64_t{0xffff};
  struct Case {
    PortSpace space;
    uint64_t service_id;
    uint64_t mask;
    PortSpace expected;
    uint64_t becomes;
  };
  for (const Case& c :
       {Case{PortSpace::kIb, 0x013f0007, ~uint64_t{0}, PortSpace::kIb, 0x013f0007},
        Case{PortSpace::kIb, 0x01060007, ~uint64_t{0}, PortSpace::kTcp, 0x01060007},
        Case{PortSpace::kIb, 0x01110007, ~uint64_t{0}, PortSpace::kUdp, 0x01110007},
        Case{PortSpace::kTcp, 0x01060007, ~uint64_t{0}, PortSpace::kTcp, 0x01060007},
        Case{PortSpace::kTcp, 0x01060007, kSpaceMask, PortSpace::kTcp, 0x01060000},
        Case{PortSpace::kUdp, 7, 0xffff, PortSpace::kUdp, 0x01110007},
        Case{PortSpace::kIb, 0, 0, PortSpace::kIb, 0x013f0000}}) {
    SCOPED_TRACE(c.service_id);
    Address address = ib(c.service_id, c.mask);
    const auto space = select_port_space(c.space, address);
    ASSERT_TRUE(space);
    EXPECT_EQ(*space, c.expected);
    EXPECT_EQ(service_of(*space, address).value(), c.becomes);
    EXPECT_EQ(be64toh(fields_of(address).service_id_mask) & kSpaceMask, kSpaceMask);
  }
  for (PortSpace space : {PortSpace::kIb, PortSpace::kTcp, PortSpace::kUdp}) {
    for (const uint16_t port : std::initializer_list<uint16_t>{0, 7}) {
      Address address = make_address(kAfIb, Gid{}, port);
      EXPECT_EQ(select_port_space(space, address), space) << "of one that does not say";
      EXPECT_EQ(address.port(), port);
    }
    Address address = ib(0x0000123400000007, ~uint64_t{0});
    const auto none = select_port_space(space, address);
    ASSERT_FALSE(none);
    EXPECT_EQ(none.error().value, EPROTONOSUPPORT);
  }
  Address of_ip = ipv4("192.0.2.1", 5);
  EXPECT_EQ(*select_port_space(PortSpace::kIpoib, of_ip), PortSpace::kIpoib);
}

TEST(Addresses, MulticastGidsAreTheGroups) {
  EXPECT_EQ(multicast_gid(ipv4("239.1.2.3")), ipv6("::ffff:239.1.2.3").gid());
  EXPECT_EQ(multicast_gid(ipv6("ff0e::5")), ipv6("ff0e::5").gid());
  EXPECT_EQ(multicast_gid(make_address(kAfIb, ipv6("ff0e::5").gid(), 0)), ipv6("ff0e::5").gid());
  EXPECT_FALSE(multicast_gid(ipv4("192.0.2.1")));
  EXPECT_FALSE(multicast_gid(ipv6("::")));
  EXPECT_FALSE(multicast_gid(Address{}));
}

}  // namespace
}  // namespace urxe::cm
