// SPDX-License-Identifier: BSD-2-Clause
// The header of the RDMA IP CM service (IBTA annex A11).
#include "packet/wire/cm/ip_cm_header.h"

#include <gtest/gtest.h>

#include <vector>

namespace urxe::test {
namespace {

using Bytes = std::vector<uint8_t>;

const Bytes ipv4 = {0x00, 0x40, 0xbe, 0xef, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,   0, 192, 0,
                    2,    1,    0,    0,    0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 203, 0, 113, 255};
const Bytes ipv6 = {0x00, 0x60, 0x01, 0x02, 0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
                    0,    1,    0xfe, 0x80, 0,    0,    0,    0,    0, 0, 2, 3, 4, 5, 6, 7, 8, 9};

Bytes emitted(const IpCmHeader& header) {
  const auto bytes = emit_ip_cm_header(header);
  return {bytes.begin(), bytes.end()};
}

TEST(IpCmHeader, Ipv4AddressesBecomeMappedGids) {
  const auto header = parse_ip_cm_header(ipv4);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->ip_version, 4);
  EXPECT_EQ(header->source_port, 0xbeef);
  EXPECT_TRUE(header->source.is_ipv4());
  EXPECT_EQ(header->source.to_string(), "192.0.2.1");
  EXPECT_EQ(header->destination.to_string(), "203.0.113.255");
  EXPECT_EQ(emitted(*header), ipv4);
}

TEST(IpCmHeader, Ipv6AddressesStayAsTheyAre) {
  const auto header = parse_ip_cm_header(ipv6);
  ASSERT_TRUE(header);
  EXPECT_EQ(header->ip_version, 6);
  EXPECT_EQ(header->source_port, 0x0102);
  EXPECT_EQ(header->source.to_string(), "2001:db8::1");
  EXPECT_EQ(header->destination.to_string(), "fe80::203:405:607:809");
  EXPECT_EQ(emitted(*header), ipv6);
}

TEST(IpCmHeader, EveryLengthThatIsTooShortIsRefusedAndWhatFollowsIsNotRead) {
  Bytes longer = ipv4;
  longer.resize(100, 0xff);
  const auto whole = parse_ip_cm_header(ipv4);
  const decltype(whole) refused = Unexpected<MadDropReason>(MadDropReason::kMalformed);
  for (size_t size = 0; size <= longer.size(); ++size) {
    const Bytes exact(longer.begin(), longer.begin() + static_cast<long>(size));
    const auto header = parse_ip_cm_header(exact);
    EXPECT_TRUE(header == (size >= kIpCmHeaderBytes ? whole : refused)) << size;
  }
}

TEST(IpCmHeader, OtherVersionsAreRefused) {
  for (int value = 0; value < 256; ++value) {
    Bytes bytes = ipv4;
    bytes[0] = static_cast<uint8_t>(value);
    EXPECT_EQ(parse_ip_cm_header(bytes).has_value(), value == 0) << value;
  }
}

TEST(IpCmHeader, OnlyIpv4AndIpv6AreKnownAndTheReservedBitsDoNotMatter) {
  for (int value = 0; value < 256; ++value) {
    Bytes bytes = ipv6;
    bytes[1] = static_cast<uint8_t>(value);
    const auto header = parse_ip_cm_header(bytes);
    EXPECT_EQ(header.has_value(), value >> 4 == 4 || value >> 4 == 6) << value;
    EXPECT_EQ(header ? header->ip_version : value >> 4, value >> 4);
  }
}

TEST(IpCmHeader, WhatStandsBeforeAnIpv4AddressDoesNotMatter) {
  Bytes bytes = ipv4;
  for (size_t i = 0; i < 12; ++i) bytes[4 + i] = bytes[20 + i] = 0xff;
  const auto header = parse_ip_cm_header(bytes);
  ASSERT_TRUE(header);
  EXPECT_EQ(*header, *parse_ip_cm_header(ipv4));
  EXPECT_EQ(emitted(*header), ipv4);
}

}  // namespace
}  // namespace urxe::test
