// SPDX-License-Identifier: BSD-2-Clause
// The test support itself: link types, file formats and the verdicts of the ICRC checker.

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/capture_file.h"
#include "tests/support/datagram.h"
#include "tests/support/icrc_check.h"

namespace urxe::test {
namespace {

using Bytes = std::vector<uint8_t>;

CapturedFrame sample_frame(const std::string& name, size_t index) {
  return read_capture(std::string(URXE_PCAP_SAMPLES) + "/" + name).frames.at(index);
}

/// The same IP packet behind another link header.
CapturedFrame relink(const CapturedFrame& ethernet, LinkType type, Bytes header) {
  CapturedFrame frame = ethernet;
  frame.link_type = type;
  header.insert(header.end(), ethernet.bytes.begin() + 14, ethernet.bytes.end());
  frame.bytes = header;
  return frame;
}

TEST(Datagram, EveryLinkTypeLeadsToTheIpPacket) {
  for (const char* name : {"rc_send.pcap", "rc_send_v6.pcap"}) {
    const CapturedFrame frame = sample_frame(name, 0);
    const Bytes mac(frame.bytes.begin(), frame.bytes.begin() + 12);
    const Bytes type(frame.bytes.begin() + 12, frame.bytes.begin() + 14);
    Bytes vlan = mac;
    vlan.insert(vlan.end(), {0x81, 0, 0, 5});
    Bytes double_vlan = mac;
    double_vlan.insert(double_vlan.end(), {0x88, 0xa8, 0, 5, 0x81, 0, 0, 6});
    vlan.insert(vlan.end(), type.begin(), type.end());
    double_vlan.insert(double_vlan.end(), type.begin(), type.end());
    EXPECT_EQ(check_icrc(frame), IcrcVerdict::kOk);
    EXPECT_EQ(check_icrc(relink(frame, LinkType::kEthernet, vlan)), IcrcVerdict::kOk);
    EXPECT_EQ(check_icrc(relink(frame, LinkType::kEthernet, double_vlan)), IcrcVerdict::kOk);
    EXPECT_EQ(check_icrc(relink(frame, LinkType::kRaw, {})), IcrcVerdict::kOk);
    EXPECT_EQ(check_icrc(relink(frame, LinkType::kNull, Bytes(4))), IcrcVerdict::kOk);
    EXPECT_EQ(check_icrc(relink(frame, LinkType::kLinuxSll, Bytes(16))), IcrcVerdict::kOk);
    EXPECT_EQ(check_icrc(relink(frame, LinkType::kLinuxSll2, Bytes(20))), IcrcVerdict::kOk);
  }
}

TEST(IcrcCheck, FindsEveryKindOfFrameThatIsNotRight) {
  const CapturedFrame good = sample_frame("rc_send.pcap", 0);
  CapturedFrame frame = good;
  frame.bytes[18] ^= 1;  // identification
  EXPECT_EQ(check_icrc(frame), IcrcVerdict::kBad);
  frame = good;
  frame.bytes.back() ^= 0x80;
  EXPECT_EQ(check_icrc(frame), IcrcVerdict::kBad);
  frame = good;
  frame.bytes[22] ^= 0xff;  // TTL
  EXPECT_EQ(check_icrc(frame), IcrcVerdict::kOk);
  frame = good;
  frame.bytes[20] |= 0x20;  // more fragments
  EXPECT_EQ(check_icrc(frame), IcrcVerdict::kFragment);
  frame = good;
  frame.bytes.pop_back();
  EXPECT_EQ(check_icrc(frame), IcrcVerdict::kCut);
  frame = good;
  frame.bytes[36] ^= 1;  // UDP destination port
  EXPECT_EQ(check_icrc(frame), IcrcVerdict::kNotRoce);
  frame.bytes.resize(3);
  EXPECT_EQ(check_icrc(frame), IcrcVerdict::kNotRoce);
}

TEST(IcrcCheck, SegmentsUnderOneHeaderAreAnAggregate) {
  CapturedFrame frame = sample_frame("rc_send.pcap", 0);
  const Bytes packet(frame.bytes.begin() + 42, frame.bytes.end());
  frame.bytes.insert(frame.bytes.end(), packet.begin(), packet.end());
  const size_t udp_bytes = 8 + 2 * packet.size();
  frame.bytes[16] = static_cast<uint8_t>((20 + udp_bytes) >> 8);
  frame.bytes[17] = static_cast<uint8_t>(20 + udp_bytes);
  frame.bytes[38] = static_cast<uint8_t>(udp_bytes >> 8);
  frame.bytes[39] = static_cast<uint8_t>(udp_bytes);
  EXPECT_EQ(check_icrc(frame), IcrcVerdict::kAggregate);
}

// The 24-byte header and one record of three bytes, big-endian, in nanoseconds.
TEST(CaptureFile, BigEndianPcap) {
  const Bytes file = {0xa1, 0xb2, 0x3c, 0x4d, 0, 2, 0, 4, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0,
                      0,    101,  0,    0,    0, 7, 0, 0, 0, 9, 0, 0, 0, 3, 0, 0, 0, 5, 1, 2, 3};
  const CaptureFile read = parse_capture(file);
  EXPECT_EQ(read.error, "");
  ASSERT_EQ(read.frames.size(), 1U);
  EXPECT_EQ(read.frames[0].link_type, LinkType::kRaw);
  EXPECT_EQ(read.frames[0].time_ns, 7000000009U);
  EXPECT_EQ(read.frames[0].original_size, 5U);
  EXPECT_EQ(read.frames[0].bytes, (Bytes{1, 2, 3}));
  for (size_t size = 25; size < file.size(); ++size) {
    EXPECT_NE(
        parse_capture(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))).error,
        "");
  }
}

TEST(CaptureFile, NoCapture) {
  EXPECT_NE(parse_capture({}).error, "");
  EXPECT_NE(parse_capture(Bytes(100)).error, "");
  EXPECT_NE(read_capture("/nonexistent").error, "");
}

}  // namespace
}  // namespace urxe::test
