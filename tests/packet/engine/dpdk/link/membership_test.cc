// SPDX-License-Identifier: BSD-2-Clause
// Multicast membership: IGMP and MLD.
#include "packet/wire/ip/ip_header.h"
#include "tests/packet/engine/dpdk/link/link_fixture.h"

namespace urxe::test {
namespace {

class MembershipTest : public LinkTest {};

constexpr size_t kIgmpAt = kEthernetHeaderBytes + 24;

/// An IGMPv2 query as a router sends it, for one group or (zero) for all.
std::vector<uint8_t> igmp_query(const Gid& group) {
  // A leave has the same layout.
  ControlFrame frame = make_membership_leave(address("239.1.1.1"), address("10.0.0.254"), kPeerMac);
  uint8_t* const igmp = frame.bytes.data() + kIgmpAt;
  igmp[0] = 0x11;
  std::fill_n(igmp + 2, 6, uint8_t{0});
  if (!group.is_zero()) std::copy_n(group.ipv4(), 4, igmp + 4);
  InternetChecksum checksum;
  checksum.add({igmp, 8});
  store_be16(igmp + 2, checksum.value());
  return {frame.bytes.begin(), frame.bytes.begin() + static_cast<ptrdiff_t>(frame.size)};
}

ControlFrame mld_query(const Gid& group, const char* source = "fe80::1", uint8_t hops = 1) {
  std::array<uint8_t, 24> query{};
  query[0] = 130;
  std::ranges::copy(group.bytes, query.begin() + 8);
  return make_icmpv6({address(source), all_nodes_group(), hops, true, query},
                     group_mac(all_nodes_group()), kPeerMac);
}

TEST_F(MembershipTest, TellsTwiceThatItJoinsAndOnceThatItLeaves) {
  const Gid group = address("239.1.2.3");
  link_.join(group, now_);
  link_.join(group, now_);
  pass(seconds(5));
  auto frames = sent();
  ASSERT_EQ(frames.size(), 2U);
  for (const ControlFrame& frame : frames) {
    EXPECT_EQ(destination_of(frame), (MacAddress{0x01, 0, 0x5e, 1, 2, 3}));
    EXPECT_EQ(frame.bytes[kIgmpAt], 0x16);
    InternetChecksum header;
    header.add({frame.bytes.data() + kEthernetHeaderBytes, 24});
    EXPECT_EQ(header.value(), 0);
    EXPECT_EQ(frame.bytes[kEthernetHeaderBytes + 8], 1) << "time to live";
  }
  link_.leave(group);
  link_.leave(group);
  frames = sent();
  ASSERT_EQ(frames.size(), 1U);
  EXPECT_EQ(frames[0].bytes[kIgmpAt], 0x17);
  EXPECT_EQ(destination_of(frames[0]), (MacAddress{0x01, 0, 0x5e, 0, 0, 2}));
}

TEST_F(MembershipTest, TellsMldRouters) {
  const Gid group = address("ff0e::1:2:3");
  link_.join(group, now_);
  const auto frames = sent();
  ASSERT_EQ(frames.size(), 1U);
  const auto report = parse_icmpv6(bytes(frames[0]));
  ASSERT_TRUE(report);
  EXPECT_TRUE(report->has_router_alert);
  EXPECT_EQ(report->hop_limit, 1);
  EXPECT_EQ(report->bytes[0], 131);
  EXPECT_EQ(report->destination, group);
  EXPECT_TRUE(report->source.is_zero()) << "no link-local address: RFC 3590";
}

TEST_F(MembershipTest, AnswersQueries) {
  const Gid group = address("239.1.2.3");
  link_.join(group, now_);
  link_.join(address("239.1.2.4"), now_);
  link_.join(address("ff0e::1"), now_);
  pass(seconds(5));
  (void)sent();
  link_.handle(igmp_query({}), now_);
  pass(seconds(1));
  EXPECT_EQ(sent().size(), 2U);
  link_.handle(igmp_query(group), now_);
  pass(seconds(1));
  EXPECT_EQ(sent().size(), 1U);
  link_.handle(igmp_query(address("239.9.9.9")), now_);
  pass(seconds(1));
  EXPECT_TRUE(sent().empty());
  link_.handle(bytes(mld_query({})), now_);
  pass(seconds(1));
  EXPECT_EQ(sent().size(), 1U);
}

// Expect: queries of no router on the link are not answered.
TEST_F(MembershipTest, IgnoresForgedQueries) {
  link_.join(address("ff0e::1"), now_);
  link_.join(address("239.1.2.3"), now_);
  pass(seconds(5));
  (void)sent();
  link_.handle(bytes(mld_query({}, "fd00::9")), now_);
  link_.handle(bytes(mld_query({}, "fe80::9", 64)), now_);
  auto wrong = igmp_query({});
  wrong[kIgmpAt + 2] ^= 1;
  link_.handle(wrong, now_);
  pass(seconds(2));
  EXPECT_TRUE(sent().empty());
}

// Expect: a flood of queries makes no flood of reports, and many groups no frame that is lost.
TEST_F(MembershipTest, ReportsAreBounded) {
  Gid group = address("239.0.0.1");
  for (uint8_t i = 1; i <= 200; ++i) {
    group.bytes[14] = i;
    link_.join(group, now_);
  }
  size_t frames = sent().size();
  for (int i = 0; i < 100; ++i) {
    pass(milliseconds(50));
    frames += sent().size();
  }
  EXPECT_EQ(frames, 400U);
  for (int i = 0; i < 1000; ++i) link_.handle(igmp_query({}), now_);
  frames = 0;
  for (int i = 0; i < 40; ++i) {
    pass(milliseconds(50));
    frames += sent().size();
  }
  EXPECT_EQ(frames, 200U);
}

TEST_F(MembershipTest, EveryTruncatedFrameIsHarmless) {
  std::vector<std::vector<uint8_t>> frames = {igmp_query({})};
  for (const ControlFrame& frame :
       {mld_query({}),
        make_arp({true, kPeerMac, address("10.0.0.2"), {}, address("10.0.0.1")}, kOurMac),
        make_neighbour_message(
            {true, address("fd00::2"), address("fd00::1"), address("fd00::1"), kPeerMac}, kOurMac,
            kPeerMac)}) {
    frames.emplace_back(frame.bytes.begin(),
                        frame.bytes.begin() + static_cast<ptrdiff_t>(frame.size));
  }
  for (const auto& frame : frames) {
    for (size_t size = 0; size < frame.size(); ++size) {
      const std::vector<uint8_t> cut(frame.begin(), frame.begin() + static_cast<ptrdiff_t>(size));
      link_.handle(cut, now_);
      EXPECT_TRUE(sent().empty()) << size;
    }
  }
}

TEST_F(MembershipTest, OptionsWithoutLengthEnd) {
  ControlFrame frame = make_neighbour_message(
      {true, address("fd00::2"), address("fd00::1"), address("fd00::1"), kPeerMac}, kOurMac,
      kPeerMac);
  const auto message = parse_icmpv6(bytes(frame));
  ASSERT_TRUE(message);
  std::vector<uint8_t> changed(message->bytes.begin(), message->bytes.end());
  changed[25] = 0;
  Icmpv6Message wrong = *message;
  wrong.bytes = changed;
  EXPECT_FALSE(parse_neighbour_message(wrong));
  changed[25] = 2;
  EXPECT_FALSE(parse_neighbour_message(wrong));
}

}  // namespace
}  // namespace urxe::test
