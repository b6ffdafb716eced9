// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/tx_batch.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// The requester of RC and XRC (IBTA vol. 1, 9.7): sends request packets in PSN order, as far as the
// path's window, the peer's credits, fences, pacing, and the limit of outstanding READs and atomics
// allow.

/// Sends up to `budget` request packets.
Turn transmit_requests(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now,
                       uint32_t budget);

/// A timer has run out: a queue pair that waits for credits looks whether it has waited long
/// enough.
void look_at_credits_again(ChannelAdapter& ca, QueuePair& qp);

/// Gives the element at `position`, which is the next, its PSNs, or records why it cannot be
/// carried out. Executes it if it is a local operation.
void start_message(ChannelAdapter& ca, QueuePair& qp, uint32_t position);

/// Goes back to the oldest unacknowledged packet. Stops the timers: they start again when it is
/// sent, for which it may have to wait.
void go_back(ChannelAdapter& ca, QueuePair& qp);

// What other parts of a queue pair ask its requester, and tell it.

/// Whether the requester is at the end of the send queue: no request waits to go out.
inline bool has_sent_all(const QueuePair& qp) {
  return qp.requester.send_position == qp.sq.posted();
}
/// Whether exactly one request is left to send, and an ACK behind it would need a datagram of its
/// own, if a datagram holds up to `segments` packets. An ACK in a stream of requests waits for the
/// last one.
bool leaves_ack_behind(QueuePair& qp, size_t segments);
/// For RC and XRC: whether there is nothing to send, no turn to end and no place in a line to give
/// away.
bool is_idle(const ChannelAdapter& ca, const QueuePair& qp);

/// Forgets everything, as in RESET. The send queue must be empty.
void reset_requester(QueuePair& qp);
/// Sets the PSN of the first request (RTR to RTS).
void set_first_psn(QueuePair& qp, Psn psn);
/// Stops all timers of the requester and gives its part of the window back.
void stop_requester(ChannelAdapter& ca, QueuePair& qp);
/// All elements of the send queue have been completed: continues behind them.
void skip_completed_sends(QueuePair& qp);

/// Whether the responder's credits do not allow the message, which has an SSN.
bool beyond_credits(const RequesterState& req, const SendWqe& wqe);

/// The PSN of the next request that was not sent before.
inline Psn next_request_psn(const QueuePair& qp) {
  return qp.requester.next_psn;
}
inline Psn oldest_unacknowledged_psn(const QueuePair& qp) {
  return qp.requester.oldest_unacked;
}
/// Packets between the oldest unacknowledged one and the point of transmission.
inline uint32_t packets_in_flight(const QueuePair& qp) {
  return qp.requester.in_flight();
}
/// The room on the path that the packets in flight take, in bytes (receive_room()).
inline uint32_t room_in_flight(const QueuePair& qp) {
  return qp.requester.room;
}
/// Packets that were sent at least once and not acknowledged.
inline uint32_t packets_outstanding(const QueuePair& qp) {
  return qp.requester.outstanding();
}

/// Where in the message of `wqe` the packet `psn` is, counted in packets.
inline uint32_t packet_index(const SendWqe& wqe, Psn psn) {
  return (psn.value() - wqe.first_psn.value()) & Psn::kMask;
}

inline bool is_atomic(const SendWqe& wqe) {
  return wqe.opcode == IBV_WR_ATOMIC_CMP_AND_SWP || wqe.opcode == IBV_WR_ATOMIC_FETCH_AND_ADD;
}
/// Takes effect on this side only and has no PSN.
inline bool is_local(const SendWqe& wqe) {
  return wqe.opcode == IBV_WR_BIND_MW || wqe.opcode == IBV_WR_LOCAL_INV;
}
inline bool is_read(const SendWqe& wqe) {
  return wqe.opcode == IBV_WR_RDMA_READ;
}
inline bool is_atomic_write(const SendWqe& wqe) {
  return wqe.opcode == IBV_WR_ATOMIC_WRITE;
}
inline bool is_flush(const SendWqe& wqe) {
  return wqe.opcode == kWrFlush;
}
/// Completed by a response of its own rather than an ACK. At most max_rd_atomic may be in flight.
inline bool has_response(const SendWqe& wqe) {
  return is_read(wqe) || is_atomic(wqe) || is_atomic_write(wqe) || is_flush(wqe);
}

}  // namespace urxe
