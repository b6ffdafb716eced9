// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// Retransmission, time-outs, and the end of time-wait.

/// How long to wait for an answer before the next retry or, if no retry is left, before giving up.
Duration pause_before_retry(const CmCore& core, Communication& c);

/// If requests cannot be taken for want of room: gives up a communication whose REP has been
/// unanswered for long, as if its retries were over.
void make_room_for_requests(CmCore& core, Instant now);

}  // namespace urxe
