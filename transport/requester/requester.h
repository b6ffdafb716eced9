// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/tx_batch.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// The requester (IBTA vol. 1, 9.7): sends request packets, in PSN order, as far as window, credits,
// fence and the limit of outstanding READs and atomics allow.

/// Sends up to `budget` request packets.
Turn transmit_requests(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now,
                       uint32_t budget);

/// Gives the element at `position`, which is the next, its PSNs, or notes why it cannot be carried
/// out. Executes a local operation.
void start_message(ChannelAdapter& ca, QueuePair& qp, uint32_t position);

/// Moves the point of transmission, keeping the path's count of packets in flight.
void set_send_psn(QueuePair& qp, Psn psn);

/// Goes back to the oldest unacknowledged packet.
void go_back(ChannelAdapter& ca, QueuePair& qp);

/// How many PSNs one READ request asks for at the most; a longer READ is asked for piece by piece,
/// so that the answers do not overrun this side's receive buffer. Pieces begin at multiples of it.
uint32_t read_piece_packets(const QueuePair& qp);

// What other parts of a queue pair ask its requester, and tell it.

/// Nothing is known of a peer, as in RESET. The send queue is empty.
void reset_requester(QueuePair& qp);
/// Sets the PSN of the first request (RTR to RTS).
void set_first_psn(QueuePair& qp, Psn psn);
/// Stops all timers of the requester and gives its part of the window back.
void stop_requester(ChannelAdapter& ca, QueuePair& qp);
/// All elements of the send queue have been completed: goes on behind them.
void skip_completed_sends(QueuePair& qp);

/// The PSN of the next request that was not sent before.
inline Psn next_request_psn(const QueuePair& qp) {
  return qp.requester.next_psn;
}
inline Psn oldest_unacknowledged_psn(const QueuePair& qp) {
  return qp.requester.oldest_unacked;
}
/// Packets that were sent, not acknowledged, and will not be sent again unless they are lost.
inline uint32_t packets_in_flight(const QueuePair& qp) {
  return qp.requester.in_flight();
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
/// Work on this side only: it takes no PSN.
inline bool is_local(const SendWqe& wqe) {
  return wqe.opcode == IBV_WR_BIND_MW || wqe.opcode == IBV_WR_LOCAL_INV;
}
inline bool is_read(const SendWqe& wqe) {
  return wqe.opcode == IBV_WR_RDMA_READ;
}
inline bool is_atomic_write(const SendWqe& wqe) {
  return wqe.opcode == IBV_WR_ATOMIC_WRITE;
}
/// Done when its own response comes, and not by an ACK. As many as max_rd_atomic may be in flight.
inline bool has_response(const SendWqe& wqe) {
  return is_read(wqe) || is_atomic(wqe) || is_atomic_write(wqe);
}

}  // namespace urxe
