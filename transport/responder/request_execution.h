// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <span>

#include "packet/wire/roce_packet.h"
#include "transport/device/channel_adapter.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// What the responders of all services do with a request packet (IBTA vol. 1, 9.7.4, 9.8.2, 9.8.3).

bool is_send(Operation op);
bool is_write_request(Operation op);
bool is_atomic_request(Operation op);
/// READ, atomics and ATOMIC WRITE: answered by a response of their own.
bool has_own_response(Operation op);
bool with_immediate(Operation op);
bool with_invalidate(Operation op);

/// The first request since RTR is here, in its place: the peer takes the connection for established
/// (12.9.8.7). COMM_EST in RTR only; the connection manager in any state, since the application may
/// have gone on to RTS without an RTU.
void note_first_request(ChannelAdapter& ca, QueuePair& qp);

/// Payload lengths (9.7.4.1): First and Middle carry a path MTU, Last 1 to one, Only up to one.
bool payload_is_valid(const QueuePair& qp, const OpcodeInfo& info, size_t bytes);

/// Whether the queue pair's access flags allow the request.
bool operation_is_enabled(const QueuePair& qp, Operation op);

/// The RETH of a WRITE: length and, where there is any, key, rights and bounds of the whole
/// message. False: refused.
bool begin_write(ChannelAdapter& ca, QueuePair& qp, const Reth& reth);

/// Puts the payload where the WRITE goes on. Programs wait for the last byte of a WRITE: nothing
/// before it may be seen later than it. False: the key does not hold any more, or the memory is
/// gone.
bool continue_write(ChannelAdapter& ca, QueuePair& qp, std::span<const uint8_t> payload);

/// The receive work queue element that the queue pair holds completes: `bytes` came with the
/// message whose last packet has `headers`.
void complete_receive(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, uint32_t bytes);

}  // namespace urxe
