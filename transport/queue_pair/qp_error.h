// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "transport/queue_pair/queue_pair.h"
#include "transport/responder/responder.h"

namespace urxe {

// The Error state and what leads there (IBTA vol. 1, 10.3.1, 10.10).

/// Moves the queue pair to ERR and flushes both queues in order.
void enter_error(ChannelAdapter& ca, QueuePair& qp, OwedAnswers owed);

/// Completes everything on both queues, and the receive that it holds, with IBV_WC_WR_FLUSH_ERR.
/// For a queue pair in ERR.
void flush(ChannelAdapter& ca, QueuePair& qp);

/// Completes everything on the send queue with IBV_WC_WR_FLUSH_ERR.
void flush_sends(ChannelAdapter& ca, QueuePair& qp);

/// Completes the oldest send work queue element with `status`, signaled or not, and moves the queue
/// pair to ERR; for UC and UD to SQE, with the send queue flushed.
void fail_oldest_send(ChannelAdapter& ca, QueuePair& qp, ibv_wc_status status);

/// Does the same, and ends the turn of the requester: returns Turn::kIdle.
Turn fail_turn(ChannelAdapter& ca, QueuePair& qp, ibv_wc_status status);

/// Completes the receive work queue element that the queue pair holds with `status`.
void complete_receive_in_error(ChannelAdapter& ca, QueuePair& qp, ibv_wc_status status);

/// The opcode of a send completion.
ibv_wc_opcode send_completion_opcode(ibv_wr_opcode opcode);
/// Tells the completion counters of a send work queue element's end.
void note_completed(const QueuePair& qp, const SendWqe& wqe, bool succeeded);

}  // namespace urxe
