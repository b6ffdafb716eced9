// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/engine/dpdk/link/ethernet.h"
#include "packet/wire/roce_packet.h"

namespace urxe {

/// Writes the Ethernet, IP and UDP headers of a RoCE packet whose `packet_bytes` bytes are to lie
/// behind them; returns their size, roce_header_bytes(). The UDP checksum is 0, for "none", which
/// IPv6 allows only between hosts that have agreed on it: see write_udp_checksum(). `out` has room
/// for kMaxFrameHeaderBytes.
size_t write_roce_headers(uint8_t* out, const Flow& flow, uint16_t identification,
                          size_t packet_bytes, const MacAddress& to, const MacAddress& from);

/// Fills in the UDP checksum of a whole frame with IPv6.
void write_udp_checksum(std::span<uint8_t> frame, const Flow& flow);

size_t roce_header_bytes(const Flow& flow);

}  // namespace urxe
