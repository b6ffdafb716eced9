// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/path_mtu.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "packet/wire/icrc.h"
#include "packet/wire/ip/ip_header.h"
#include "packet/wire/opcode.h"

namespace urxe {
namespace {

/// Of the packets that have a path MTU of payload, in IPv6.
uint32_t longest_headers() {
  uint32_t longest = 0;
  for (int value = 0; value < 256; ++value) {
    const OpcodeInfo& info = opcode_info(Opcode(static_cast<uint8_t>(value)));
    if (!info.name.empty() && info.has_payload)
      longest = std::max<uint32_t>(longest, info.header_bytes);
  }
  return static_cast<uint32_t>(kIpv6HeaderBytes + kUdpHeaderBytes + longest + kIcrcBytes);
}

// The defect: a WRITE with immediate data in IPv6, and one of XRC, did not fit.
TEST(PathMtu, LeavesRoomForTheLongestHeadersAndNoMore) {
  for (const ibv_mtu mtu : {IBV_MTU_512, IBV_MTU_1024, IBV_MTU_2048, IBV_MTU_4096}) {
    const uint32_t needed = path_mtu_bytes(mtu) + longest_headers();
    EXPECT_EQ(path_mtu_for(needed), mtu);
    EXPECT_EQ(path_mtu_for(needed - 1), mtu - 1);
    EXPECT_EQ(largest_packet_of(mtu), needed);
  }
}

// As Linux has it.
TEST(PathMtu, OfUsualInterfaces) {
  EXPECT_EQ(path_mtu_for(65536), IBV_MTU_4096);
  EXPECT_EQ(path_mtu_for(9000), IBV_MTU_4096);
  EXPECT_EQ(path_mtu_for(4200), IBV_MTU_4096);
  EXPECT_EQ(path_mtu_for(2200), IBV_MTU_2048);
  EXPECT_EQ(path_mtu_for(1500), IBV_MTU_1024);
  EXPECT_EQ(path_mtu_for(1280), IBV_MTU_1024);
  EXPECT_EQ(path_mtu_for(1000), IBV_MTU_512);
  EXPECT_EQ(path_mtu_for(576), IBV_MTU_256);
  EXPECT_EQ(path_mtu_for(68), IBV_MTU_256);
}

}  // namespace
}  // namespace urxe
