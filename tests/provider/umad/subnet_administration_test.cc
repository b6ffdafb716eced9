// SPDX-License-Identifier: BSD-2-Clause
// The stand-in for subnet administration (IBTA vol. 1, 15.2.5.16). The offsets are the
// specification's.
#include "provider/umad/subnet_administration.h"

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <algorithm>
#include <utility>

#include "packet/base/bytes.h"
#include "provider/umad/management.h"

namespace urxe::umad {
namespace {

constexpr uint16_t kPathRecord = 0x35;
constexpr uint64_t kBothGids = 3 << 2;
constexpr size_t kRecord = 56;

Gid ipv4(uint8_t last) {
  const uint8_t address[4] = {192, 0, 2, last};
  return Gid::from_ipv4(address);
}
/// As libibmad puts it together.
Gid port_guid_of(const Gid& gid) {
  Gid made = gid;
  made.bytes[0] = 0xfe;
  made.bytes[1] = 0x80;
  return made;
}

DeviceDescription device() {
  DeviceDescription description;
  description.gids = {ipv4(1)};
  description.mtu = 4200;
  return description;
}

MadBytes path_request(const Gid& destination, uint64_t components = kBothGids) {
  MadBytes mad{};
  write_mad_header({.management_class = kSubnetAdministration,
                    .class_version = 2,
                    .method = kMethodGet,
                    .transaction_id = 9,
                    .attribute_id = kPathRecord},
                   mad);
  store_be64(mad.data() + 48, components);
  std::ranges::copy(destination.bytes, mad.begin() + kRecord + 8);
  std::ranges::copy(ipv4(1).bytes, mad.begin() + kRecord + 24);
  return mad;
}

uint16_t status_of_answer(const MadBytes& mad) {
  Lids lids;
  return read_mad_header(answer_subnet_administration(mad, device(), lids).value()).status;
}

TEST(SubnetAdministration, PathHasALidForTheGid) {
  Lids lids;
  const auto response =
      answer_subnet_administration(path_request(port_guid_of(ipv4(2))), device(), lids).value();
  const MadHeader header = read_mad_header(response);
  EXPECT_EQ(header.method, kMethodGetResp);
  EXPECT_EQ(header.status, 0);
  EXPECT_EQ(header.transaction_id, 9U);
  const uint8_t* const record = response.data() + kRecord;
  EXPECT_EQ(Gid::from_ipv6(record + 8), ipv4(2));
  EXPECT_EQ(Gid::from_ipv6(record + 24), ipv4(1));
  const uint16_t lid = load_be16(record + 40);
  EXPECT_NE(lid, 0);
  EXPECT_EQ(lids.peer_of(lid).value_or(LidPeer{}).gid, ipv4(2));
  EXPECT_EQ(record[54] & 0x3f, IBV_MTU_4096);
}

TEST(SubnetAdministration, GidThatCannotBeReachedIsRefused) {
  constexpr uint16_t kInvalidGid = 0x500;
  Gid group = ipv4(2);
  group.bytes[12] = 224;
  Gid link_local;
  link_local.bytes[0] = 0xfe;
  link_local.bytes[1] = 0x80;
  link_local.bytes[15] = 1;
  EXPECT_EQ(status_of_answer(path_request(group)), kInvalidGid);
  EXPECT_EQ(status_of_answer(path_request(link_local)), kInvalidGid)
      << "the device has none of that kind";
  EXPECT_EQ(status_of_answer(path_request(ipv4(2), 0)), 0x600) << "no destination";
}

TEST(SubnetAdministration, OtherRequestsAreRefused) {
  MadBytes mad = path_request(ipv4(2));
  MadHeader header = read_mad_header(mad);
  header.attribute_id = 0x11;
  write_mad_header(header, mad);
  EXPECT_EQ(status_of_answer(mad), kStatusUnsupportedAttribute);
  Lids lids;
  constexpr std::pair<uint8_t, uint8_t> kMethods[] = {{0x01, 0x81}, {0x02, 0x81}, {0x12, 0x92},
                                                      {0x13, 0x92}, {0x14, 0x94}, {0x15, 0x95}};
  for (const auto& [asked, answered] : kMethods) {
    header.method = asked;
    write_mad_header(header, mad);
    const auto response = answer_subnet_administration(mad, device(), lids).value();
    EXPECT_EQ(read_mad_header(response).method, answered) << unsigned{asked};
  }
  for (const uint8_t unknown : {uint8_t{0x05}, uint8_t{0x06}, uint8_t{0x7f}}) {
    header.method = unknown;
    write_mad_header(header, mad);
    EXPECT_FALSE(answer_subnet_administration(mad, device(), lids)) << unsigned{unknown};
  }
  header.method = 0x92;
  write_mad_header(header, mad);
  EXPECT_FALSE(answer_subnet_administration(mad, device(), lids));
  header.class_version = 1;
  write_mad_header(header, mad);
  EXPECT_FALSE(answer_subnet_administration(mad, device(), lids)) << "a response of any version";
  header = read_mad_header(path_request(ipv4(2)));
  header.method = 0x02;
  write_mad_header(header, mad);
  EXPECT_EQ(status_of_answer(mad), kStatusUnsupportedAttribute) << "nobody sets a path";
  header = read_mad_header(path_request(ipv4(2)));
  header.class_version = 1;
  write_mad_header(header, mad);
  EXPECT_EQ(status_of_answer(mad), kStatusBadVersion);
}

}  // namespace
}  // namespace urxe::umad
