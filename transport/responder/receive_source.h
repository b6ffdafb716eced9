// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "packet/wire/headers.h"
#include "transport/device/channel_adapter.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Where the responders of all services get receive work queue elements from: the queue pair's own
// receive queue or a shared one (IBTA vol. 1, 10.2.9). An element is taken when a message needs
// one, held in qp.responder.receive while the message comes, and let go of by its completion.

/// Takes an element for the message that the queue pair is receiving, unless it holds one (that of
/// a message that broke off, say). False: there is none. Tells where a shared queue's limit is
/// passed.
bool take_receive(ChannelAdapter& ca, QueuePair& qp);

/// Takes the next element of the queue pair's own receive queue. It holds none. False: none.
bool take_own_receive(QueuePair& qp);

/// Whether the queue pair holds an element.
inline bool holds_receive(const QueuePair& qp) {
  return qp.responder.receive.has_value();
}

/// Completes the element that the queue pair holds. `wc` lacks its wr_id and the queue pair number.
void complete_taken(ChannelAdapter& ca, QueuePair& qp, ibv_wc wc, bool solicited);

/// Lets go of what the queue pair holds without a completion (RESET; the queue that it came from is
/// destroyed). A shared queue's element is lost (10.3.1: who resets a queue pair without going
/// through the Error state first may lose elements).
void drop_taken(QueuePair& qp);

/// Makes the shared receive queue that an XRC request names the one that the queue pair takes from,
/// and its protection domain that of the request's keys (annex A14). False: there is no such queue
/// in the queue pair's domain, or it is not that of the message that is under way.
bool use_named_queue(ChannelAdapter& ca, QueuePair& qp, const Headers& headers);

/// The shared queue is destroyed: lets go of what an XRC target holds of it. Its message under way
/// is refused with the next packet.
void forget_shared_queue(QueuePair& qp, const SharedReceiveQueue& srq);

/// The credit count of an AETH (9.7.7.2). A shared queue's elements are promised to nobody: 31.
uint8_t advertised_credits(const QueuePair& qp);

/// Raises the event that a shared queue's limit has been passed, once (11.6.3, 10.2.9.3).
void check_limit(ChannelAdapter& ca, SharedReceiveQueue& srq);

}  // namespace urxe
