// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "packet/wire/roce_packet.h"
#include "tools/analyze/capture_reader.h"

namespace urxe::analyze {

/// Bytes from the BTH to the ICRC: a path MTU of 4096, and all headers.
inline constexpr size_t kLargestPacket = 4096 + 64;

/// What a frame of a capture holds.
enum class FrameKind : uint8_t {
  kOther,     ///< no RoCEv2
  kFragment,  ///< of an IP packet with UDP: RoCEv2 is never fragmented by its sender
  kCut,       ///< the capture cut it before the end of the UDP header, or a length is impossible
  kRoce,      ///< a UDP datagram to port 4791
};

/// A UDP datagram to port 4791. `bytes` are those that the capture kept, from the BTH on.
struct Datagram {
  FrameKind kind = FrameKind::kOther;
  Flow flow;
  uint16_t identification = 0;  ///< IPv4
  /// An IPv4 header without options and with DF set, or an IPv6 one: what icrc() knows.
  bool plain_header = true;
  std::span<const uint8_t> bytes;
  size_t wire_size = 0;  ///< of the UDP payload, BTH to ICRC; larger than `bytes` if it was cut
};

/// Takes any bytes. Ethernet with VLAN tags, raw IP, Linux cooked (both versions), and the null
/// encapsulations; extension headers of IPv6.
Datagram find_datagram(LinkType link_type, std::span<const uint8_t> frame);

}  // namespace urxe::analyze
