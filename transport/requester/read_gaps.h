// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Gaps in READ responses. To a peer that keeps requests (repair.h), which is one of this kind, only
// what is missing is requested again: a READ request may be repeated for any part of its responses
// (IBTA vol. 1, 9.7.5.1.4). What comes behind the gap, of the same work queue element, is put in
// place and kept. What comes of later READs is dropped, since they must not return older data.
//
// A repair is followed by a query. The peer's report comes behind all responses that it owed: what
// is missing then was lost once more. If the report is lost, too, the repair is repeated after a
// round trip while later responses come, then by the probe timer.

/// An answer has come to a request behind a READ or atomic whose own response has not. True: it was
/// taken, and what is missing will be requested again. False: go back; the peer is not taken to
/// keep requests, and is asked; or everything is being requested again already, or it is no READ
/// response.
bool take_response_ahead(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, Instant now);
/// The same for a positive acknowledgement of all requests up to `psn`.
bool take_ack_ahead(ChannelAdapter& ca, QueuePair& qp, Psn psn, Instant now);

/// The oldest packet was acknowledged: so is what was kept behind it.
void advance_over_kept(ChannelAdapter& ca, QueuePair& qp);
/// After that, there may be another gap.
void repair_oldest_gap(ChannelAdapter& ca, QueuePair& qp);

/// Whether the response to the oldest packet is known to be missing: later ones have come.
bool knows_gap(const RequesterState& requester);

/// Responses missing in a row, of one element.
struct MissingResponses {
  Psn from;
  uint32_t packets = 0;
  uint32_t position = 0;  ///< of the element
};
/// The first ones in [from, end), of packets in flight.
std::optional<MissingResponses> find_missing(QueuePair& qp, Psn from, Psn end);

/// Forgets what was kept: everything is requested again, or nothing.
void forget_kept(RequesterState& requester);

}  // namespace urxe
