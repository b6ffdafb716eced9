// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <span>

#include "packet/wire/roce_packet.h"

namespace urxe {

/// Whether packets[i + 1] must be received before packets[i]: packets[i] completes a receive, and
/// packets[i + 1] is an ACK from the same peer to the same queue pair. A reply and the ACK of the
/// message before it share a datagram, in which the ACK comes last. Programs expect the completion
/// of their SEND before the reply, because adapters acknowledge a message before they report it to
/// the program. A program with one completion queue sees the order; one whose send queue has a
/// single element needs that element for its next SEND.
[[nodiscard]] bool ack_goes_first(std::span<const RxPacket> packets, size_t i);

}  // namespace urxe
