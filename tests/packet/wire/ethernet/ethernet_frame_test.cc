// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/ethernet/ethernet_frame.h"

#include <gtest/gtest.h>

#include "packet/wire/ethernet/frame_checksum.h"
#include "packet/wire/ethernet/frame_match.h"
#include "tests/support/frame_builder.h"

namespace urxe::test::ethernet_frame_test {
namespace {

using frames::Bytes;
using frames::Parts;
using Network = FrameHeaders::Network;
using Transport = FrameHeaders::Transport;

FrameHeaders parse(const Bytes& frame) {
  return parse_frame_headers(frame).value_or(FrameHeaders{});
}

TEST(FrameHeadersTest, FindsUdpOverIpv4) {
  const Bytes frame = frames::make({});
  const FrameHeaders headers = parse(frame);
  // Expect: all of it, and nothing of a VLAN.
  EXPECT_EQ(headers.vlan_tag, std::nullopt);
  EXPECT_EQ(headers.network, Network::kIpv4);
  EXPECT_EQ(headers.transport, Transport::kUdp);
  EXPECT_EQ(headers.transport_at, 34u);
  EXPECT_EQ(headers.transport_bytes, 28u);
}

TEST(FrameHeadersTest, FollowsVlanTagsAndIpOptions) {
  const FrameHeaders headers =
      parse(frames::make({.vlan_tags = {0x6064, 5}, .ip_options = Bytes(8, 1)}));
  EXPECT_EQ(headers.vlan_tag, 0x6064);
  EXPECT_EQ(headers.ether_type, 0x0800);
  EXPECT_EQ(headers.transport_at, 14u + 8 + 28);
}

TEST(FrameHeadersTest, DoesNotFollowAThirdVlanTag) {
  const FrameHeaders headers = parse(frames::make({.vlan_tags = {1, 2, 3}}));
  EXPECT_EQ(headers.ether_type, 0x8100);
  EXPECT_EQ(headers.network, Network::kOther);
}

TEST(FrameHeadersTest, FollowsExtensionHeaders) {
  Bytes routing(16, 0);
  routing[1] = 1;
  Bytes authentication(16, 0);
  authentication[1] = 2;
  const FrameHeaders headers = parse(frames::make({.ipv6 = true,
                                                   .protocol = frames::kTcp,
                                                   .extensions = {{0, Bytes(8, 0)},
                                                                  {43, routing},
                                                                  {60, Bytes(8, 0)},
                                                                  {51, authentication},
                                                                  {44, Bytes(8, 0)}}}));
  EXPECT_EQ(headers.network, Network::kIpv6);
  EXPECT_EQ(headers.transport, Transport::kTcp);
  EXPECT_EQ(headers.transport_at, 14u + 40 + 8 + 16 + 8 + 16 + 8);
}

TEST(FrameHeadersTest, HasNoTransportInFragments) {
  Bytes fragment(8, 0);
  fragment[3] = 1;  // more fragments
  for (const Parts& parts : {Parts{.fragment = 0x2000}, Parts{.fragment = 1},
                             Parts{.ipv6 = true, .extensions = {{44, fragment}}}}) {
    const FrameHeaders headers = parse(frames::make(parts));
    EXPECT_NE(headers.network, Network::kOther);
    EXPECT_EQ(headers.transport, Transport::kOther);
  }
}

TEST(FrameHeadersTest, HasNoTransportBehindTooManyOrBrokenExtensions) {
  Bytes long_one(8, 0);
  long_one[1] = 200;
  for (const Parts& parts :
       {Parts{.ipv6 = true,
       .extensions = std::vector<std::pair<uint8_t, Bytes>>(9, {60, Bytes(8, 0)})},
        Parts{.ipv6 = true, .extensions = {{60, long_one}}}}) {
    EXPECT_EQ(parse(frames::make(parts)).transport, Transport::kOther);
  }
}

// Expect: every cut-off frame is parsed within its bytes (the sanitizers watch). Its transport
// header is told of when it is there, as NICs match it, but its checksums are not right.
TEST(FrameHeadersTest, TakesEveryTruncatedLength) {
  for (const Parts& parts : {Parts{}, Parts{.vlan_tags = {1, 2}, .ipv6 = true},
                             Parts{.ipv6 = true, .extensions = {{0, Bytes(8, 0)}}}}) {
    const Bytes frame = frames::make(parts);
    for (size_t size = 0; size < frame.size(); ++size) {
      const Bytes cut(frame.begin(), frame.begin() + static_cast<std::ptrdiff_t>(size));
      const auto headers = parse_frame_headers(cut);
      EXPECT_EQ(headers.has_value(), size >= 14) << size;
      if (!headers) continue;
      const bool has_ports = size >= parse(frame).transport_at + 8;
      EXPECT_EQ(headers->transport, has_ports ? Transport::kUdp : Transport::kOther) << size;
      EXPECT_EQ(headers->transport_bytes, 0u) << size;
      EXPECT_FALSE(checksums_are_right(cut, *headers, true)) << size;
    }
  }
}

TEST(FrameChecksumTest, AgreesWithRightFrames) {
  for (const Parts& parts :
       {Parts{}, Parts{.protocol = frames::kTcp}, Parts{.payload = Bytes(21, 3)},
        Parts{.vlan_tags = {9}, .ip_options = Bytes(4, 1)}}) {
    const Bytes frame = frames::make(parts);
    EXPECT_TRUE(checksums_are_right(frame, parse(frame), false));
  }
}

TEST(FrameChecksumTest, NoticesEveryBitFromTheIpHeaderOn) {
  const Bytes right = frames::make({.protocol = frames::kTcp});
  for (size_t bit = 14 * 8; bit < right.size() * 8; ++bit) {
    Bytes frame = right;
    frame[bit / 8] = static_cast<uint8_t>(frame[bit / 8] ^ (1U << bit % 8));
    EXPECT_FALSE(checksums_are_right(frame, parse(frame), false)) << bit;
  }
}

TEST(FrameChecksumTest, BelievesTheKernelOfTheTransportOnly) {
  Bytes frame = frames::make({});
  frame.back() ^= 1U;
  EXPECT_TRUE(checksums_are_right(frame, parse(frame), true));
  frame[24] ^= 1U;  // of the IPv4 header's checksum
  EXPECT_FALSE(checksums_are_right(frame, parse(frame), true));
}

TEST(FrameChecksumTest, IsNotRightWithoutAUdpChecksumOrOverIpv6) {
  Bytes frame = frames::make({});
  frame[40] = frame[41] = 0;
  EXPECT_FALSE(checksums_are_right(frame, parse(frame), false));
  const Bytes ipv6 = frames::make({.ipv6 = true});
  EXPECT_FALSE(checksums_are_right(ipv6, parse(ipv6), false));
}

TEST(FrameChecksumTest, WritesWhatTheOracleHas) {
  for (const Parts& parts :
       {Parts{}, Parts{.protocol = frames::kTcp, .payload = Bytes(33, 7)}, Parts{.ipv6 = true},
        Parts{.vlan_tags = {1, 2}, .ipv6 = true, .protocol = frames::kTcp},
        Parts{.ipv6 = true, .extensions = {{60, Bytes(8, 0)}}}, Parts{.ip_options = Bytes(40, 1)},
        Parts{.payload = {}}}) {
    const Bytes right = frames::make(parts);
    Bytes frame = right;
    const FrameHeaders headers = parse(frame);
    const size_t at = headers.transport_at + (parts.protocol == frames::kTcp ? 16 : 6);
    frame[at] = 0x55;
    if (!parts.ipv6) frame[headers.network_at + 10] = 0x55;
    write_checksums(frame);
    EXPECT_EQ(frame, right);
  }
}

TEST(FrameChecksumTest, LeavesFragmentsTransportAlone) {
  Bytes frame = frames::make({.fragment = 0x2000});
  const Bytes before = frame;
  write_checksums(frame);
  EXPECT_EQ(frame, before);
}

TEST(FrameMatchTest, TellsTheDestination) {
  FrameMatch match;
  const uint8_t value[] = {1, 0, 0x5e, 4, 5, 6};
  const uint8_t mask[] = {0xff, 0xff, 0xff, 0, 0, 0};
  match.require(FrameMatch::Base::kFrame, 0, value, mask);
  EXPECT_EQ(match.destination().value, (MacAddress{1, 0, 0x5e, 0, 0, 0}));
  EXPECT_EQ(match.destination().mask, (MacAddress{0xff, 0xff, 0xff, 0, 0, 0}));
  EXPECT_TRUE(match.names_destination());
}

// The length that an IP or UDP header tells is the sender's to choose.
TEST(FrameHeadersTest, LengthsMayBeWrong) {
  constexpr size_t kTotalLengthAt = 14 + 2;
  const Bytes right = frames::make({});
  for (const uint8_t total : {uint8_t{0}, uint8_t{19}, uint8_t{20}, uint8_t{27}}) {
    Bytes frame = right;
    frame[kTotalLengthAt] = 0;
    frame[kTotalLengthAt + 1] = total;
    const FrameHeaders headers = parse(frame);
    EXPECT_EQ(headers.network, Network::kIpv4) << unsigned{total};
    EXPECT_EQ(headers.transport, Transport::kOther) << "the datagram's header is outside";
    EXPECT_FALSE(checksums_are_right(frame, headers, true));
  }
}

// Expect: a datagram whose length is not the packet's has no right checksum, and gets none.
TEST(FrameChecksumTest, IsNotRightIfTheUdpLengthIsWrong) {
  constexpr size_t kUdpLengthAt = 14 + 20 + 4;
  for (const int change : {-1, 1}) {
    Bytes frame = frames::make({});
    frame[kUdpLengthAt + 1] = static_cast<uint8_t>(frame[kUdpLengthAt + 1] + change);
    EXPECT_FALSE(checksums_are_right(frame, parse(frame), true)) << change;
    const Bytes before = frame;
    write_checksums(frame);
    EXPECT_EQ(frame, before);
  }
}

// RFC 768: a sum of 0 is sent as all ones, because 0 means that there is none.
TEST(FrameChecksumTest, OfUdpIsNeverZero) {
  constexpr size_t kUdpChecksumAt = 14 + 20 + 6;
  Bytes frame = frames::make({.payload = Bytes(20, 0)});
  // What the payload adds to the sum makes it 0.
  const Bytes sum(frame.begin() + kUdpChecksumAt, frame.begin() + kUdpChecksumAt + 2);
  frame = frames::make({.payload = [&] {
    Bytes payload(20, 0);
    payload[0] = sum[0];
    payload[1] = sum[1];
    return payload;
  }()});
  frame[kUdpChecksumAt] = frame[kUdpChecksumAt + 1] = 0;
  EXPECT_FALSE(checksums_are_right(frame, parse(frame), false)) << "there is none";
  write_checksums(frame);
  EXPECT_EQ(frame[kUdpChecksumAt], 0xff);
  EXPECT_EQ(frame[kUdpChecksumAt + 1], 0xff);
  EXPECT_TRUE(checksums_are_right(frame, parse(frame), false));
}

}  // namespace
}  // namespace urxe::test::ethernet_frame_test
