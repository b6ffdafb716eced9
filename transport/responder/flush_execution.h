// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/headers.h"
#include "transport/observation/error_cause.h"
#include "transport/queue_pair/queue_pair.h"
#include "transport/responder/note_refusal.h"

namespace urxe {

// The checks of a FLUSH request (annex A19), which come before any of its memory is looked up, and
// what it asks for.

/// The rights that a queue pair and a region must grant: IBV_ACCESS_FLUSH_...
int flush_rights(const Feth& feth);

/// Check::kNone: the request is well formed, and the queue pair takes it.
Check check_flush(const QueuePair& qp, const Headers& headers);

/// The memory that the request names. Of a whole region, or window, the range has length 0: its key
/// and rights can be checked, and its bounds are right.
RemoteRange flushed_range(const MemoryTable& memory, const Headers& headers);

}  // namespace urxe
