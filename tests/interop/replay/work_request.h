// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/interop/replay/adapter.h"
#include "tests/interop/replay/message.h"
#include "tests/sim/posting.h"

namespace urxe::replay {

/// The work request that a recorded message came from, but for its buffer and wr_id.
sim::SendRequest work_request_of(Device& device, const Conversation& conversation,
                                 const Message& message);

/// The bytes of its buffer: what it sent, or room for what it brought.
size_t buffer_bytes(const Message& message);

}  // namespace urxe::replay
