// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "packet/base/bytes.h"
#include "packet/wire/ethernet/ethernet_frame.h"
#include "packet/wire/gid.h"

namespace urxe {

inline constexpr uint16_t kEtherTypeArp = 0x0806;
inline constexpr MacAddress kBroadcastMac = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff};

/// Frames of ARP, neighbour discovery and multicast membership are no longer than this.
inline constexpr size_t kMaxControlFrameBytes = 96;

/// A frame to be sent.
struct ControlFrame {
  std::array<uint8_t, kMaxControlFrameBytes> bytes{};
  size_t size = 0;
};

/// 0 if the frame is too short to have one.
inline uint16_t ether_type(std::span<const uint8_t> frame) {
  return frame.size() < kEthernetHeaderBytes ? 0 : load_be16(frame.data() + kEtherTypeAt);
}

/// Returns kEthernetHeaderBytes.
inline size_t write_ethernet(uint8_t* out, const MacAddress& to, const MacAddress& from,
                             uint16_t type) {
  std::ranges::copy(to, out);
  std::ranges::copy(from, out + to.size());
  store_be16(out + kEtherTypeAt, type);
  return kEthernetHeaderBytes;
}

/// The link address of a multicast group (RFC 1112, RFC 2464).
inline MacAddress group_mac(const Gid& group) {
  const uint8_t* const last = group.bytes.data() + 12;
  if (!group.is_ipv4()) return {0x33, 0x33, last[0], last[1], last[2], last[3]};
  return {0x01, 0x00, 0x5e, static_cast<uint8_t>(last[1] & 0x7f), last[2], last[3]};
}

}  // namespace urxe
