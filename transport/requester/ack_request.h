// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/queue_pair/queue_pair.h"
#include "transport/requester/request_packet.h"

namespace urxe {

/// Whether to set AckReq (9.7.5.1.2 leaves that to the requester): at the end of a message, at
/// intervals in a long one, and where the queue pair will wait for room, for credits, or because
/// pacing `pauses` it. Nobody waits without an answer on its way. Each answer wakes this process,
/// and costs the peer a packet: so in a wide window one that goes on at once asks more rarely.
[[nodiscard]] bool wants_ack(const QueuePair& qp, const SendWqe& wqe, const RequestPacket& packet,
                             bool pauses);

}  // namespace urxe
