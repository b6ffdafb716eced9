// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

/// What the kernel and a packet socket tell each other about a frame's segments and checksum, in
/// front of the frame (PACKET_VNET_HDR). The header of Linux, linux/virtio_net.h, is not valid C++.
/// The machine's byte order.
struct VnetHeader {
  static constexpr uint8_t kNeedsChecksum = 1;    ///< a flag
  static constexpr uint8_t kChecksumIsRight = 2;  ///< a flag
  static constexpr uint8_t kNoSegments = 0;       ///< a gso_type
  static constexpr uint8_t kTcpIpv4Segments = 1;  ///< a gso_type
  static constexpr uint8_t kTcpIpv6Segments = 4;  ///< a gso_type
  static constexpr uint8_t kUdpSegments = 5;      ///< a gso_type

  uint8_t flags = 0;
  uint8_t gso_type = kNoSegments;
  uint16_t header_bytes = 0;    ///< of a sent frame: Ethernet, IP, UDP
  uint16_t segment_size = 0;    ///< UDP payload of all segments but the last
  uint16_t checksum_start = 0;  ///< offset of what is summed
  uint16_t checksum_at = 0;     ///< offset of the checksum from there
};
static_assert(sizeof(VnetHeader) == 10);

}  // namespace urxe
