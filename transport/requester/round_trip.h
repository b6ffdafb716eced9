// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "transport/device/channel_adapter.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// What an answer tells of the round trip. After a silence it is perhaps the probe's answer: either
// a packet was lost, or the peer is slow. Taking the one for the other makes all timers too long,
// or sends again what is on its way.

/// Packets up to `acknowledged` have been answered: takes the sample that this ends.
void take_round_trip(const ChannelAdapter& ca, QueuePair& qp, Psn acknowledged, Instant now);

/// To be called before timers are served and before an answer is taken. If a timer ran out so long
/// ago that this process cannot have run since (it was stopped), the sample being measured ends
/// when the timer ran out. On a crowded host the process may have waited for a processor, as its
/// peers do; such waits count as part of the round trip.
void note_absence(const ChannelAdapter& ca, RequesterState& req, Instant now);

/// An answer to what has been answered. If there was a probe, it is the probe's answer: the first
/// one was not, and the sample counts after all. The peer is slow.
void take_doubtful_sample(QueuePair& qp);

}  // namespace urxe
