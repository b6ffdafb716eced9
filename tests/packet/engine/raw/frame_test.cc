// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/frame.h"

#include <gtest/gtest.h>

#include <memory>

#include "packet/base/bytes.h"
#include "tests/packet/engine/raw/frame_samples.h"

namespace urxe::test {
namespace {

constexpr size_t kIpAt = kEthernetHeaderBytes;
constexpr size_t kUdpAt = kEthernetHeaderBytes + kIpv4HeaderBytes;

std::optional<ReceivedFrame> parsed(const Frame& frame) {
  return parse_frame(frame.bytes, frame.vnet);
}

void expect_packets(const Frame& frame, const Flow& flow, size_t count, size_t payload_bytes) {
  const auto received = parsed(frame);
  ASSERT_TRUE(received);
  EXPECT_EQ(received->packets.flow, flow);
  EXPECT_EQ(received->packets.packets(), count);
  uint16_t index = received->ipv4_identification;
  received->packets.for_each([&](std::span<const uint8_t> packet) {
    const auto view = parse(RxPacket{packet, flow, index});
    ASSERT_TRUE(view) << drop_reason_name(view.error());
    EXPECT_EQ(view->headers.bth.psn, Psn(index));
    EXPECT_EQ(view->payload.size(), payload_bytes);
    ++index;
  });
}

TEST(Frame, WhatIsWrittenIsReadBack) {
  for (const Flow& flow : {flow_v4(), flow_v6()}) {
    for (const size_t payload : {0, 8, 1024, 4096})
      expect_packets(make_frame(flow, 1, payload), flow, 1, payload);
    expect_packets(make_frame(flow, 14, 4096), flow, 14, 4096);
  }
}

TEST(Frame, HopLimitZeroLeavesWithTheDefault) {
  for (Flow flow : {flow_v4(), flow_v6()}) {
    flow.hop_limit = 0;
    const auto received = parsed(make_frame(flow, 1, 8));
    ASSERT_TRUE(received);
    EXPECT_EQ(received->packets.flow.hop_limit, 64);
  }
}

// Expect: the kernel gets all that it needs to make the segments and their checksums.
TEST(Frame, TellsTheKernelWhereThingsAre) {
  const Frame v4 = make_frame(flow_v4(), 3, 1024);
  EXPECT_EQ(v4.vnet.flags, VnetHeader::kNeedsChecksum);
  EXPECT_EQ(v4.vnet.gso_type, VnetHeader::kUdpSegments);
  EXPECT_EQ(v4.vnet.segment_size, 1024 + 16);
  EXPECT_EQ(v4.vnet.header_bytes, 42);
  EXPECT_EQ(v4.vnet.checksum_start, 34);
  EXPECT_EQ(v4.vnet.checksum_at, 6);
  const Frame v6 = make_frame(flow_v6(), 1, 1024);
  EXPECT_EQ(v6.vnet.gso_type, VnetHeader::kNoSegments);
  EXPECT_EQ(v6.vnet.segment_size, 0);
  EXPECT_EQ(v6.vnet.header_bytes, 62);
  EXPECT_EQ(v6.vnet.checksum_start, 54);
}

TEST(Frame, ReadsPastIpv4Options) {
  for (const size_t bytes : {4, 40}) {
    Frame frame = make_frame(flow_v4(), 2, 64);
    add_ipv4_options(frame, bytes);
    expect_packets(frame, flow_v4(), 2, 64);
  }
}

TEST(Frame, EthernetPaddingIsNotPayload) {
  Frame frame = make_frame(flow_v4(), 1, 0);
  frame.bytes.resize(60, 0xee);
  expect_packets(frame, flow_v4(), 1, 0);
}

/// A byte of a good frame that makes it a bad one.
struct Change {
  const char* what;
  size_t at;
  uint8_t value;
};

TEST(Frame, RefusesOthersKinds) {
  const Change changes[] = {
      {"ARP", 13, 0x06},
      {"an inner VLAN tag", 12, 0x81},
      {"IP version 5", kIpAt, 0x55},
      {"a header of 16 bytes", kIpAt, 0x44},
      {"a header longer than the packet", kIpAt, 0x4f},
      {"TCP", kIpAt + 9, 6},
      {"more fragments", kIpAt + 6, 0x20},
      {"a later fragment", kIpAt + 7, 1},
      {"another port", kUdpAt + 3, 0xb8},
      {"a UDP length of nothing", kUdpAt + 5, 8},
      {"a UDP length beyond the packet", kUdpAt + 4, 0xff},
      {"an IP length beyond the frame", kIpAt + 2, 0xff},
      {"an IP length within the header", kIpAt + 3, 19},
  };
  for (const Change& change : changes) {
    Frame frame = make_frame(flow_v4(), 1, 8);
    frame.bytes[change.at] = change.value;
    if (change.at >= kIpAt && change.at < kUdpAt && change.value != 0x4f)
      repair_ipv4_checksum(frame);
    EXPECT_FALSE(parsed(frame)) << change.what;
  }
}

TEST(Frame, RefusesAWrongIpv4HeaderChecksum) {
  Frame frame = make_frame(flow_v4(), 1, 8);
  frame.bytes[kIpAt + 8] ^= 1;  // no ICRC covers the time to live
  EXPECT_FALSE(parsed(frame));
}

TEST(Frame, RefusesIpv6ExtensionHeaders) {
  for (const int next_header : {0, 43, 44, 50, 59, 60}) {
    Frame frame = make_frame(flow_v6(), 1, 8);
    frame.bytes[kIpAt + 6] = static_cast<uint8_t>(next_header);
    EXPECT_FALSE(parsed(frame)) << next_header;
  }
}

TEST(Frame, RefusesSegmentsThatCannotBe) {
  Frame frame = make_frame(flow_v4(), 4, 64);
  for (const int size : {0, 1, 15}) {
    frame.vnet.segment_size = static_cast<uint16_t>(size);
    EXPECT_FALSE(parsed(frame)) << size;
  }
  frame.vnet.segment_size = 80;
  for (const int type : {1, 3, 4, 6, 0x7f}) {
    frame.vnet.gso_type = static_cast<uint8_t>(type);
    EXPECT_FALSE(parsed(frame)) << type;
  }
  // Larger than the packet: there is one.
  frame.vnet.gso_type = VnetHeader::kUdpSegments;
  frame.vnet.segment_size = 0xffff;
  ASSERT_TRUE(parsed(frame));
  EXPECT_EQ(parsed(frame)->packets.packets(), 1U);
}

// Each length in a buffer of its own, so that a sanitizer sees a read beyond it.
TEST(Frame, RefusesEveryTruncatedLength) {
  for (const Flow& flow : {flow_v4(), flow_v6()}) {
    const Frame frame = make_frame(flow, 3, 16);
    for (size_t size = 0; size < frame.bytes.size(); ++size) {
      const auto copy = std::make_unique<uint8_t[]>(size);
      std::copy_n(frame.bytes.begin(), size, copy.get());
      EXPECT_FALSE(parse_frame({copy.get(), size}, frame.vnet)) << size;
    }
  }
}

}  // namespace
}  // namespace urxe::test
