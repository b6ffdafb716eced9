// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/roce_packet.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// The responder of UC (IBTA vol. 1, 9.8.2.2). It sends no answers. It drops a message if one of its
// packets is missing or wrong, and keeps the receive work queue element for the next message
// (responder classes D and D1, 9.9.3.2). Only an element that is itself bad fails (class A).

/// Handles a request packet to a UC queue pair in RTR, RTS, SQD or SQE.
void receive_uc_request(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet);

}  // namespace urxe
