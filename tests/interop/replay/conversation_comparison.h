// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/interop/replay/ledger.h"
#include "tests/interop/replay/story.h"

namespace urxe::replay {

/// Holds what our requester has sent in a conversation against what was recorded.
void compare_requests(const Talk& talk, const Frames& ours, Ledger& ledger);

/// The same for our responder. Also no answer of ours may come later than the recorded one.
void compare_responses(const Talk& talk, const Frames& ours, Ledger& ledger);

}  // namespace urxe::replay
