// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>

#include "packet/wire/roce_packet.h"
#include "transport/device/channel_adapter.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Checks and execution of request packets that the responders of several services share
// (IBTA vol. 1, 9.7.4, 9.8.2, 9.8.3).

bool is_send(Operation op);
bool is_write_request(Operation op);
bool is_atomic_request(Operation op);
/// READ, atomics, ATOMIC WRITE and FLUSH: answered by a response of their own.
bool has_own_response(Operation op);
bool with_immediate(Operation op);
bool with_invalidate(Operation op);

/// The first request since RTR shows that the peer takes the connection for established (12.9.8.7).
/// Raises COMM_EST, in RTR only. Tells the connection manager in any state, since the application
/// may have moved to RTS without an RTU.
void note_first_request(ChannelAdapter& ca, QueuePair& qp);

/// Whether the payload's length is right (9.7.4.1): First and Middle packets carry a path MTU of
/// bytes, Last packets 1 to a path MTU, Only packets 0 to a path MTU.
bool payload_is_valid(const QueuePair& qp, const OpcodeInfo& info, size_t bytes);

/// Whether the queue pair's access flags allow the request. Those for a FLUSH depend on its
/// headers: check_flush() looks at them.
bool operation_is_enabled(const QueuePair& qp, Operation op);

/// Takes the RETH of a WRITE. Unless its length is 0, checks key, rights and bounds for the whole
/// message. False: refused.
bool begin_write(ChannelAdapter& ca, QueuePair& qp, const Reth& reth);

/// Stores the next payload of the WRITE. Programs wait for the last byte of a WRITE, so it must not
/// become visible before the others. False: the key is not valid any more, or the memory is gone.
bool continue_write(ChannelAdapter& ca, QueuePair& qp, std::span<const uint8_t> payload);

/// Completes the receive work queue element that the queue pair holds, for a message of `bytes`
/// whose last packet has `headers`.
void complete_receive(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, uint32_t bytes);

}  // namespace urxe
