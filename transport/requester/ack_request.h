// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/queue_pair/queue_pair.h"
#include "transport/requester/request_packet.h"

namespace urxe {

/// Whether to set AckReq (9.7.5.1.2 leaves that to the requester): at the end of a message, at
/// intervals in a long one, and if the queue pair may have to wait after this packet: for room, for
/// credits, or because pacing `pauses` it. A queue pair never waits without an ACK on its way. But
/// an ACK costs the peer a packet and may wake this process, so there are fewer in a wide window.
[[nodiscard]] bool wants_ack(const QueuePair& qp, const SendWqe& wqe, const RequestPacket& packet,
                             bool pauses);

}  // namespace urxe
