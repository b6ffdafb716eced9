// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>

#include "packet/wire/roce_packet.h"

namespace urxe {

/// Whether packets[i + 1] is to be received before packets[i]: the first completes a receive, and
/// the other one is an ACK of the same peer's to the same queue pair. A reply and the ACK of what
/// it replies to share a datagram, the ACK behind. Programs expect the completion of their SEND
/// before the reply, as adapters acknowledge a message before the peer's program learns of it; with
/// one completion queue they see the order, and with a send queue of one they need the place.
[[nodiscard]] bool ack_goes_first(std::span<const RxPacket> packets, size_t i);

}  // namespace urxe
