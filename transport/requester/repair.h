// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/tx_batch.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Repair: to a peer that keeps what comes behind a gap only the missing packets are sent again, and
// new ones go on meanwhile. See "Loss" in transport/README.md.
//
// A NAK names the first missing packet only. The peer is asked to report each further gap at once.
// If it does not, and the packet behind a repair is missing as well, twice as many are sent the
// next time, so that a run of lost packets is soon repaired. A report that there is no gap, from a
// peer that has not seen all that was sent before the query, says that the rest is lost.

/// The peer has perhaps kept what came behind a gap: asks it. Only a peer that keeps requests
/// answers.
void ask_for_reports(ChannelAdapter& ca, QueuePair& qp);

/// A NAK says that the oldest unacknowledged packet is missing. False: the peer is not, or no
/// longer, taken to keep what comes behind a gap; go back.
bool repair_after_nak(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// The peer reports that packets are missing, or, in answer to a query, that none are: a GAP
/// Report. Either shows that it keeps what comes behind a gap.
void receive_gap_report(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, Instant now);

/// READ responses are missing within the `packets` from `from` on, of requests that the peer has
/// executed: they are requested again.
void owe_responses(ChannelAdapter& ca, QueuePair& qp, Psn from, uint32_t packets);
/// Whether the packet, or its response, is being repaired.
bool is_repaired(RequesterState& requester, Psn psn);
/// Responses come, and those that were requested again should be among them by now: once more.
void repeat_lost_repairs(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// Whether the oldest packet is to be sent again, some times, before silence is a reason for
/// anything else: the peer keeps what comes behind a gap.
bool repairs_after_silence(QueuePair& qp);
/// The probe timer has run out, and repairs_after_silence().
void repair_after_silence(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// Sends the packets again that are due, and a query. Like a probe, they take no room on the path.
Turn send_repairs(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now);

/// Packets were acknowledged.
void note_repaired(QueuePair& qp);

/// Ends all repair: everything is sent again, or nothing.
void end_repair(RequesterState& requester);

}  // namespace urxe
