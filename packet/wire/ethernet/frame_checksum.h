// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

#include "packet/wire/ethernet/ethernet_frame.h"

namespace urxe {

/// Writes the checksums of the IPv4 header, and of TCP and UDP over IPv4 and IPv6, of a frame
/// (IBV_SEND_IP_CSUM). Leaves alone what the frame does not have, and fragments' TCP and UDP.
void write_checksums(std::span<uint8_t> frame);

/// Whether the frame is TCP or UDP over IPv4 with right checksums of both (IBV_WC_IP_CSUM_OK). UDP
/// without a checksum is not. `transport_is_right`: that of TCP or UDP is known to be right.
bool checksums_are_right(std::span<const uint8_t> frame, const FrameHeaders& headers,
                         bool transport_is_right);

}  // namespace urxe
