// SPDX-License-Identifier: BSD-2-Clause
#include "packet/wire/ethernet/frame_segments.h"

#include <gtest/gtest.h>

#include <numeric>

#include "tests/support/frame_builder.h"

namespace urxe::test::frame_segments_test {
namespace {

using frames::Bytes;
using frames::Parts;
using Transport = FrameHeaders::Transport;

Bytes counting(size_t size) {
  Bytes bytes(size);
  std::iota(bytes.begin(), bytes.end(), uint8_t{0});
  return bytes;
}

std::vector<Bytes> split(const Bytes& frame, Transport transport, size_t segment_size) {
  std::vector<Bytes> result;
  const auto segments = FrameSegments::of(frame, transport, segment_size);
  for (size_t i = 0; segments && i < segments->count(); ++i) {
    Bytes out(segments->bytes(i));
    segments->write(i, out.data());
    result.push_back(out);
  }
  return result;
}

/// The frame that the sender would have made of segment `index`.
Bytes expected(Parts parts, size_t index, size_t segment_size, size_t count) {
  const Bytes all = parts.payload;
  const size_t at = index * segment_size;
  const size_t end = std::min(all.size(), at + segment_size);
  parts.payload.assign(all.begin() + static_cast<std::ptrdiff_t>(at),
                       all.begin() + static_cast<std::ptrdiff_t>(end));
  parts.tcp_sequence += static_cast<uint32_t>(at);
  if (index + 1 != count) parts.tcp_flags = static_cast<uint8_t>(parts.tcp_flags & ~0x09U);
  if (index != 0) parts.tcp_flags = static_cast<uint8_t>(parts.tcp_flags & ~0x80U);
  Bytes frame = frames::make(parts);
  if (!parts.ipv6) {  // the builder numbers all IPv4 packets 7
    const size_t ip = 14 + 4 * parts.vlan_tags.size();
    frame[ip + 5] = static_cast<uint8_t>(7 + index);
    frame[ip + 10] = frame[ip + 11] = 0;
    const uint16_t sum =
        frames::checksum(Bytes(frame.begin() + static_cast<std::ptrdiff_t>(ip),
                               frame.begin() + static_cast<std::ptrdiff_t>(ip + 20)));
    frame[ip + 10] = static_cast<uint8_t>(sum >> 8);
    frame[ip + 11] = static_cast<uint8_t>(sum);
  }
  return frame;
}

TEST(FrameSegmentsTest, MakesTheFramesOfTheWire) {
  for (const bool ipv6 : {false, true}) {
    for (const uint8_t protocol : {frames::kTcp, frames::kUdp}) {
      const Parts parts{.vlan_tags = {5},
                        .ipv6 = ipv6,
                        .protocol = protocol,
                        .tcp_flags = 0x99,  // CWR, ACK, PSH, FIN
                        .tcp_sequence = 0xfffffff0,
                        .payload = counting(250)};
      const auto transport = protocol == frames::kTcp ? Transport::kTcp : Transport::kUdp;
      const auto made = split(frames::make(parts), transport, 100);
      ASSERT_EQ(made.size(), 3u);
      for (size_t i = 0; i < 3; ++i) EXPECT_EQ(made[i], expected(parts, i, 100, 3)) << i;
    }
  }
}

TEST(FrameSegmentsTest, RefusesWhatCannotBe) {
  const Bytes frame = frames::make({.payload = counting(1000)});
  EXPECT_FALSE(FrameSegments::of(frame, Transport::kTcp, 100)) << "another protocol";
  EXPECT_FALSE(FrameSegments::of(frame, Transport::kUdp, 0)) << "no size";
  const Bytes large = frames::make({.payload = counting(60000)});
  EXPECT_FALSE(FrameSegments::of(large, Transport::kUdp, 8)) << "too many";
  EXPECT_FALSE(FrameSegments::of(frames::make({.payload = {}}), Transport::kUdp, 100)) << "empty";
  EXPECT_FALSE(FrameSegments::of(frames::make({.fragment = 0x2000}), Transport::kUdp, 10));
  for (size_t size = 0; size < frame.size(); ++size) {
    EXPECT_FALSE(FrameSegments::of(std::span(frame).first(size), Transport::kUdp, 100)) << size;
  }
}

// 64 KiB of a connection with a very small MSS.
TEST(FrameSegmentsTest, TakesManySmallSegments) {
  constexpr size_t kSegment = 36;
  const Parts parts{.protocol = frames::kTcp, .payload = Bytes(65000, 7)};
  const auto made = split(frames::make(parts), Transport::kTcp, kSegment);
  ASSERT_EQ(made.size(), (65000 + kSegment - 1) / kSegment);
  size_t bytes = 0;
  for (const Bytes& one : made) bytes += one.size();
  EXPECT_LE(bytes, FrameSegments::kMaxBytes);
  EXPECT_LE(made.size(), FrameSegments::kMaxSegments);
}

// A TCP header that claims to be longer than its packet, or shorter than a header.
TEST(FrameSegmentsTest, RefusesWrongTcpHeaderSizes) {
  for (const uint8_t words : {uint8_t{0}, uint8_t{0x40}, uint8_t{0xf0}}) {
    Bytes frame = frames::make({.protocol = frames::kTcp, .payload = counting(30)});
    frame[34 + 12] = words;
    EXPECT_FALSE(FrameSegments::of(frame, Transport::kTcp, 10)) << int{words};
  }
}

}  // namespace
}  // namespace urxe::test::frame_segments_test
