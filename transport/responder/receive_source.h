// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "packet/wire/headers.h"
#include "transport/device/channel_adapter.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Receive work queue elements for the responders of all services. They come from the queue pair's
// own receive queue or from a shared one (IBTA vol. 1, 10.2.9). A responder takes an element when a
// message needs one, holds it while the message arrives, and completes it.

/// Takes an element for the present message, unless the queue pair holds one already, for instance
/// that of a message that broke off. False: there is none. Raises the event of a shared queue whose
/// limit is passed.
bool take_receive(ChannelAdapter& ca, QueuePair& qp);

/// The bytes that the element holds which take_receive() would give; nothing: there is none. A
/// message that is too long takes none: from a shared queue, others may use it.
std::optional<uint64_t> next_receive_length(QueuePair& qp);

/// Takes the next element of the queue pair's own receive queue; it must hold none. False: there is
/// none.
bool take_own_receive(QueuePair& qp);

/// Whether the queue pair holds an element.
inline bool holds_receive(const QueuePair& qp) {
  return qp.responder.receive.has_value();
}

/// Whether an RNR NAK has told the peer that there is no element for its request, and it still
/// waits for one.
bool lacks_receive(const QueuePair& qp);

/// Completes the element that the queue pair holds. Fills in wr_id and the queue pair number.
void complete_taken(ChannelAdapter& ca, QueuePair& qp, ibv_wc wc, bool solicited);

/// Drops the element that the queue pair holds without a completion: in RESET, or when the queue
/// that it came from is destroyed. A shared queue's element is lost (10.3.1 allows this for a reset
/// that does not go through the Error state).
void drop_taken(QueuePair& qp);

/// An XRC request names a shared receive queue (annex A14): elements come from it, and its
/// protection domain holds the request's keys. False: the queue pair's XRC domain has no such
/// queue, or the message under way uses another one.
bool use_named_queue(ChannelAdapter& ca, QueuePair& qp, const Headers& headers);

/// The shared queue is being destroyed: drops the element of it that an XRC target holds. The next
/// packet of a message under way is refused.
void forget_shared_queue(QueuePair& qp, const SharedReceiveQueue& srq);

/// The credit count of an AETH (9.7.7.2). 31, "no credits", for shared queues.
uint8_t advertised_credits(const QueuePair& qp);

/// Raises the event of a shared queue once, if its limit has been passed (11.6.3, 10.2.9.3).
void check_limit(ChannelAdapter& ca, SharedReceiveQueue& srq);

}  // namespace urxe
