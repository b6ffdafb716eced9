// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// Retransmission, time-outs, and the end of time-wait.

/// A request was sent. Arms the timer for the next retry or, if no retry is left, for giving up.
void await_answer(CmCore& core, Communication& c, Instant now);

/// A request of `peer` has come. If there is no room for it, or for those of its source that came
/// before: gives up communications whose REPs have been unanswered for long, as if their retries
/// were over.
void make_room_for_requests(CmCore& core, const Gid& peer, Instant now);

}  // namespace urxe
