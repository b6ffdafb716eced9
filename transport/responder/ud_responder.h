// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/roce_packet.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

/// The responder of a UD queue pair (IBTA vol. 1, 9.8.3.2): one datagram for one queue pair in RTR,
/// RTS, SQD or SQE, whose P_Key has been checked; that came on `flow`. Checks the Q_Key, fills the
/// oldest receive work queue element with the GRH and the payload and completes it. What does not
/// fit is dropped (responder class D, 9.9.3.2).
void receive_ud_request(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                        const Flow& flow);

}  // namespace urxe
