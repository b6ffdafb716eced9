// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/link/roce_frame.h"

#include <gtest/gtest.h>

#include <vector>

#include "packet/engine/raw/frame.h"
#include "packet/wire/ip/ip_header.h"
#include "tests/packet/engine/dpdk/link/link_fixture.h"

namespace urxe::test {
namespace {

std::vector<uint8_t> make_frame(const Flow& flow, size_t packet_bytes) {
  std::vector<uint8_t> frame(roce_header_bytes(flow) + packet_bytes);
  for (size_t i = 0; i < frame.size(); ++i) frame[i] = static_cast<uint8_t>(i * 7 + i / 256);
  EXPECT_EQ(write_roce_headers(frame.data(), flow, 77, packet_bytes, kPeerMac, kOurMac),
            roce_header_bytes(flow));
  return frame;
}

// Expect: what is written is what the parser of received frames takes.
TEST(RoceFrame, IsReadBack) {
  for (const auto& [from, to] :
       {std::pair("10.0.0.1", "10.0.0.2"), std::pair("fd00::1", "fd00::2")}) {
    const Flow flow{address(from), address(to), 0xc123, 0x6a, 9};
    const auto frame = make_frame(flow, 1040);
    const auto read = parse_frame(frame, {});
    ASSERT_TRUE(read);
    EXPECT_EQ(read->packets.flow, flow);
    EXPECT_EQ(read->packets.bytes.size(), 1040U);
    EXPECT_EQ(read->packets.segment_size, 1040U);
    EXPECT_EQ(read->ipv4_identification, flow.source.is_ipv4() ? 77 : 0);
    EXPECT_EQ(MacAddress({frame[0], frame[1], frame[2], frame[3], frame[4], frame[5]}), kPeerMac);
  }
}

// Expect: the same as the plain sum of 16-bit words, for every length.
TEST(RoceFrame, HasARightUdpChecksum) {
  const Flow flow{address("fd00::1"), address("fd00::2"), 0xc123};
  for (size_t size = 16; size < 140; size += 4) {
    auto frame = make_frame(flow, size);
    write_udp_checksum(frame, flow);
    const std::span<const uint8_t> udp = std::span(frame).subspan(54);
    EXPECT_NE(load_be16(udp.data() + 6), 0);
    InternetChecksum checksum;
    checksum.add(flow.source.bytes);
    checksum.add(flow.destination.bytes);
    checksum.add_word(kUdpProtocol);
    checksum.add_word(static_cast<uint32_t>(udp.size()));
    checksum.add(udp);
    EXPECT_EQ(checksum.value(), 0) << size;
  }
}

TEST(RoceFrame, EveryTruncatedFrameIsRefused) {
  const Flow flow{address("10.0.0.1"), address("10.0.0.2"), 0xc123};
  const auto frame = make_frame(flow, 64);
  for (size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(parse_frame(std::span(frame).first(size), {})) << size;
  }
}

}  // namespace
}  // namespace urxe::test
