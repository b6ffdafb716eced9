// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/roce_packet.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// The responder of a UC queue pair (IBTA vol. 1, 9.8.2.2): nothing is answered. A message of which
// a packet is missing or wrong is dropped, and its receive work queue element waits for the next
// one (responder classes D and D1, 9.9.3.2); only an element that is itself bad fails (class A).

/// A request packet for a UC queue pair in RTR, RTS, SQD or SQE.
void receive_uc_request(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet);

}  // namespace urxe
