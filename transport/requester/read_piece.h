// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

/// The most PSNs that one READ request asks for, where `window` bytes of this side's receive buffer
/// may be filled and packets have up to `mtu` bytes of payload. A longer READ is requested in
/// pieces of this size, so that the responses do not overrun the buffer.
uint32_t read_piece_packets(uint32_t window, uint32_t mtu);

}  // namespace urxe
