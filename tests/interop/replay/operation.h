// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/opcode.h"

namespace urxe::replay {

// What kinds of request and answer there are (IBTA vol. 1, table 38).

bool is_send(Operation operation);
bool is_write(Operation operation);
bool is_atomic(Operation operation);
bool has_immediate(Operation operation);
bool has_invalidate(Operation operation);
/// Whether the request is answered by data, not by an ACK: READs and atomics.
bool has_own_response(Operation operation);
/// Whether the request, by its last packet, takes a receive work queue element.
bool needs_receive(Operation operation);
bool is_read_response(Operation operation);
/// A READ response or an atomic acknowledge.
bool is_data_response(Operation operation);

}  // namespace urxe::replay
