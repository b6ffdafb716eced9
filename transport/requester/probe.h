// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/tx_batch.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Probes. If the last packets of a burst are lost, or their answers are, no NAK comes. Long before
// the local ACK timeout, which is chosen for the worst network, one packet is sent again. It is a
// duplicate, or the packet that the responder expects, or one ahead of that; its answer says which.
// Silence alone is no loss: a peer that is slow gets one packet more, and nothing that is on its
// way is asked for twice.
//
//   The newest packet draws an ACK of all, or a NAK that says where to go back to. A responder that
//   has sent its one NAK already (9.7.5.1.1) is silent.
//   The oldest packet is the one that such a responder waits for.
//
// They take turns, beginning with the newest. If that is a READ request, which would draw all its
// responses again, it is always the oldest; of a READ that has been answered in part, only the next
// response is asked for. If that comes, and nothing behind it, the rest is asked for again.

/// Whether the newest packet in flight can be the probe: it is no READ request.
bool newest_can_ask(QueuePair& qp);

/// Chooses the probe after the silence that has just been counted, and activates the queue pair.
void owe_probe(ChannelAdapter& ca, QueuePair& qp);

/// An answer has come, and packets are outstanding still.
void note_answered_probe(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// A packet in flight that is sent again by itself.
struct SentAgain {
  uint32_t position = 0;  ///< of its element
  Psn psn;
  bool ack_req = true;
  uint32_t responses = 0;  ///< of a READ that has arrived: so many are asked for; 0: see above
};
struct Again {
  Turn turn = Turn::kIdle;
  uint32_t psns = 0;            ///< that it takes
  bool cannot_be_sent = false;  ///< its memory is gone, and its turn comes when it is the oldest
};
/// Sends one packet in flight again. It takes no room on the path, and starts the timers. kMore: it
/// was sent, or cannot be. kIdle: it waits for its rate limit; or its memory is gone, and the queue
/// pair has failed.
Again send_again(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now,
                 const SentAgain& what);

/// Sends the probe that is due, as send_again() does.
Turn send_probe(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now);

}  // namespace urxe
