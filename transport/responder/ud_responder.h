// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/roce_packet.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

/// The responder of UD (IBTA vol. 1, 9.8.3.2): takes a datagram that came on `flow` for one queue
/// pair in RTR, RTS, SQD or SQE. The P_Key has been checked. Checks the Q_Key, fills the oldest
/// receive work queue element with the GRH and the payload, and completes it. Drops a datagram that
/// does not fit (responder class D, 9.9.3.2).
void receive_ud_request(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                        const Flow& flow);

}  // namespace urxe
