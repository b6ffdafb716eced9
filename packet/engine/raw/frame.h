// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "packet/engine/raw/vnet_header.h"
#include "packet/wire/ethernet/ethernet_frame.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/tx_batch.h"

namespace urxe {

/// Ethernet, IPv6 and UDP.
inline constexpr size_t kMaxFrameHeaderBytes = 14 + 40 + 8;
/// The smallest packet: BTH and ICRC. A frame cannot hold more packets than its size allows.
inline constexpr size_t kMinRocePacketBytes = 16;

/// The RoCE packets in a frame.
struct ReceivedFrame {
  PacketRun packets;
  uint16_t ipv4_identification = 0;  ///< of the first packet; 0 for IPv6
};

/// Takes any bytes: an Ethernet frame without VLAN tag, and what the kernel says of it. Nullopt:
/// not UDP to port 4791, a fragment, IPv6 with extension headers, a length that does not fit the
/// frame, a wrong IPv4 header checksum, segments of an impossible size. The UDP checksum is not
/// looked at: the kernel need not have filled it in, and the ICRC protects more.
std::optional<ReceivedFrame> parse_frame(std::span<const uint8_t> frame, const VnetHeader& vnet);

/// Writes the Ethernet, IP and UDP headers of a message, whose payload follows them, and fills in
/// `vnet` so that the kernel computes the UDP checksum and makes the segments. IPv4 packets have DF
/// set and the identifications 0, 1, 2, ... `out` has room for kMaxFrameHeaderBytes. Returns the
/// size of the headers.
size_t write_frame_headers(uint8_t* out, VnetHeader& vnet, const TxBatch::Message& message,
                           const MacAddress& to, const MacAddress& from);

/// The bytes of the IP packets that a message's segments become, at most.
inline size_t ip_packet_bytes(const TxBatch::Message& message) {
  constexpr size_t kIpv4Headers = 28;
  constexpr size_t kIpv6Headers = 48;
  return message.segment_size + (message.flow.destination.is_ipv4() ? kIpv4Headers : kIpv6Headers);
}

}  // namespace urxe
