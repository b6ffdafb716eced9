// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// The completer (IBTA vol. 1, 9.7.5, 9.7.7): takes ACKs, NAKs and READ and atomic responses, and
// completes send work queue elements in order.

/// A response packet for a connected queue pair in RTS, SQD or SQE.
void receive_response(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, Instant now);

/// The oldest element is done: a completion where one is wanted.
void complete_oldest_send(ChannelAdapter& ca, QueuePair& qp);

/// Completes the executed local operations (binds, invalidations) that are the oldest elements.
void complete_local_operations(ChannelAdapter& ca, QueuePair& qp);

/// Whether something that has begun is not finished.
bool is_draining(const QueuePair& qp);

/// Raises IBV_EVENT_SQ_DRAINED where that is owed and nothing is outstanding any more.
void report_drained(ChannelAdapter& ca, QueuePair& qp);

}  // namespace urxe
