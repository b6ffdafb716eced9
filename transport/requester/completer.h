// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// The completer (IBTA vol. 1, 9.7.5, 9.7.7): handles ACKs, NAKs, and READ and atomic responses, and
// completes send work queue elements in order.

/// Handles a response packet to an RC or XRC queue pair in RTS, SQD or SQE.
void receive_response(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, Instant now);

/// Retires the oldest element, with a completion if it is signaled.
void complete_oldest_send(ChannelAdapter& ca, QueuePair& qp);

/// Completes the executed local operations (binds, invalidations) that are the oldest elements.
void complete_local_operations(ChannelAdapter& ca, QueuePair& qp);

/// Whether a message that has begun is not completed.
bool is_draining(const QueuePair& qp);

/// Raises IBV_EVENT_SQ_DRAINED if it is pending and nothing is outstanding any more.
void report_drained(ChannelAdapter& ca, QueuePair& qp);

}  // namespace urxe
