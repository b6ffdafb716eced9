// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "transport/queue_pair/queue_pair.h"
#include "transport/requester/request_packet.h"

namespace urxe {

// The room that a queue pair's packets take: on the path, in the peer's receive buffer; and in this
// device's own, for the READ responses that they ask for (ReadWindow).

/// The room on the path that the packet takes, at most. `joins`: it is a further segment of a
/// datagram. Includes the responses that it asks for.
uint32_t room_for(const QueuePair& qp, const SendWqe& wqe, const RequestPacket& packet, bool joins);
/// The packet was sent.
void take_room(ChannelAdapter& ca, QueuePair& qp, const SendWqe& wqe, const RequestPacket& packet,
               bool joins);
/// The oldest `packets` of those in flight have left the path. Returns the room that they took.
uint32_t give_back_room(QueuePair& qp, uint32_t packets);
/// So many READ responses have come.
void note_responses(ChannelAdapter& ca, QueuePair& qp, uint32_t packets);
/// Nothing that is in flight is waited for: gives back all room, on the path and here.
void give_back_all(ChannelAdapter& ca, QueuePair& qp);

}  // namespace urxe
