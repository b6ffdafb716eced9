// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// What an answer tells of the round trip. After a silence it is perhaps the probe's answer: either
// a packet was lost, or the peer is slow. Taking the one for the other makes all timers too long,
// or sends again what is on its way.

/// Packets up to `acknowledged` have been answered: takes the sample that this ends.
void take_round_trip(QueuePair& qp, Psn acknowledged, Instant now);

/// An answer to what has been answered. If there was a probe, it is the probe's answer: the first
/// one was not, and the sample counts after all. The peer is slow.
void take_doubtful_sample(QueuePair& qp);

}  // namespace urxe
