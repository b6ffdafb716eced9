// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "packet/wire/roce_packet.h"

namespace urxe {

/// One line for people: "RC SEND Only qp 0x11 psn 5 ack len 64". For a datagram to QP1 it includes
/// format_mad().
std::string format(const PacketView& packet);

/// One line for people: "CM REP tid 0x5 local 0x12 remote 0x34 ...". Takes any bytes.
std::string format_mad(std::span<const uint8_t> mad);

}  // namespace urxe
