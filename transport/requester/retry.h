// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/maybe_time.h"
#include "packet/base/time.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// When the requester sends packets again, and when it gives up (IBTA vol. 1, 9.7.6): after a NAK,
// an RNR NAK, a time-out, or a probe.

/// The local ACK timeout of the queue pair, if it has one.
MaybeDuration ack_timeout(const ChannelAdapter& ca, const QueuePair& qp);

/// Restores the number of retries that the attributes grant.
void restore_retries(QueuePair& qp);
void restore_rnr_retries(QueuePair& qp);

/// Starts the timers that are not running, after a packet was sent.
void start_retry_timers(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// The queue pair has migrated: restarts counts and timers and sends the
/// outstanding packets again.
void start_over(ChannelAdapter& ca, QueuePair& qp);

/// The peer is there, and the packets in flight but the one that was asked for are lost: goes back.
void ask_for_rest(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// Packets were acknowledged: restarts counts and timers.
void note_progress(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// Something has come that acknowledges nothing, but shows that the peer is there and answers:
/// restarts counts and timers.
void note_sign_of_life(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// The oldest unacknowledged packet was lost, as a gap in the responses says, or a NAK: goes back
/// to it.
void retry_after_loss(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// A NAK says that the oldest unacknowledged packet is missing.
void retry_after_nak(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// An RNR NAK for the oldest unacknowledged packet: waits as long as its timer code says.
void retry_after_rnr(ChannelAdapter& ca, QueuePair& qp, Instant now, uint8_t timer_code);

/// The queue pair's deadline has come: handles the timers that are due.
void on_retry_timer(ChannelAdapter& ca, QueuePair& qp, Instant now);

}  // namespace urxe
