// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/tx_batch.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// The responder of RC and XRC (IBTA vol. 1, 9.7.4): checks request packets in the specification's
// order (PSN, opcode sequence, validity, resources, length, keys), executes them and answers.
//
// An answer is owed first (owe_ack(), owe_nak(), a pending resource) and sent by
// transmit_responses().

/// Handles a request packet to a queue pair in RTR, RTS, SQD or SQE. `port`: its UDP source port.
void receive_request(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, uint16_t port);

/// Keeps a packet that lies `ahead` PSNs behind the expected one, if that is of use and there is
/// room.
HeldRequests::Kept keep_ahead(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                              uint16_t port, int32_t ahead);

/// A request has come behind a SEND that is held (ResponderState::held_send).
void note_behind_held(ResponderState& resp, Psn psn);
/// Handles such a request, whose turn has not come; or (`ahead` 0) the SEND itself once more.
void receive_behind_held(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, uint16_t port,
                         int32_t ahead);

/// Handles a packet that lies `ahead` PSNs behind the expected one: keeps it if there is room.
/// After an RNR NAK the requester sends everything again, so there is no use in keeping it then.
/// One of a port that is not known to be the peer's is not kept, either.
void receive_ahead(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, uint16_t port,
                   int32_t ahead);

/// Owes a NAK for a gap, which begins with the expected PSN. One NAK, then silence until the
/// expected packet comes (9.7.4.1.1).
void owe_sequence_nak(ChannelAdapter& ca, QueuePair& qp);

/// The requester asks which packets are missing, and wants to hear of each gap from now on. If none
/// are it gets a report of 0 packets, so that it knows that this responder keeps requests.
/// `number`: of its query.
void receive_gap_query(ChannelAdapter& ca, QueuePair& qp, Psn number);

/// Executes the SEND with invalidate that was held until the READs through its key are answered, if
/// they are. Call when a READ's last response has been sent.
void resume_held_send(ChannelAdapter& ca, QueuePair& qp);

/// Handles a packet that repeats a request already executed (9.7.5.1, duplicate requests).
void receive_duplicate(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet);

/// Sends up to `budget` answers: READ and atomic responses in PSN order, then the ACK or NAK. Sends
/// ACKs that may wait only if `all_acks`.
Turn transmit_responses(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, uint32_t budget,
                        bool all_acks);

/// Owes an ACK for all packets up to the last SEND or WRITE packet received in order. It must not
/// name a later READ or atomic: it could be taken for the response. `urgent`: send it with the next
/// transmission.
void owe_ack(ChannelAdapter& ca, QueuePair& qp, bool urgent);

/// Owes an ACK that announces receives, if the peer was told that there are none and there are by
/// now (9.7.7.2, unsolicited ACK).
void announce_receives(ChannelAdapter& ca, QueuePair& qp);

/// Owes the NAK `syndrome` for `psn`. For one that ends the connection call refuse().
void owe_nak(ChannelAdapter& ca, QueuePair& qp, Psn psn, uint8_t syndrome);
/// The request needs a receive work queue element, and there is none (9.7.5.2.8).
void owe_rnr_nak(ChannelAdapter& ca, QueuePair& qp);

/// How the responder's application is told of a bad request (9.9.3, 11.6.3.2).
enum class RequestFault : uint8_t {
  kOperation,  ///< unsupported, not enabled or out of sequence: IBV_EVENT_QP_REQ_ERR
  kAccess,     ///< keys, bounds, alignment, lengths, too many READs: IBV_EVENT_QP_ACCESS_ERR
  kInReceive,  ///< a receive has completed in error; no event
};

/// NAK, asynchronous event, and the Error state (9.9.3, responder classes A and C).
void refuse(ChannelAdapter& ca, QueuePair& qp, Psn psn, NakCode code, RequestFault fault);

// What other parts of a queue pair ask its responder, and tell it.

/// Forgets everything, as in RESET.
void reset_responder(QueuePair& qp);
/// What stop_responder() does with answers that are still owed.
enum class OwedAnswers : uint8_t {
  kSend,  ///< sends them, with an ACK or NAK: the peer learns which requests were executed
  kDrop,
};

/// The queue pair is in error: ends the message under way.
void stop_responder(ChannelAdapter& ca, QueuePair& qp, OwedAnswers owed);
/// Sets the PSN of the first request to come (INIT to RTR).
void set_expected_psn(QueuePair& qp, Psn psn);
/// Makes room for `capacity` READs and atomics, no fewer than are pending; keeps the newest.
void set_resource_capacity(QueuePair& qp, uint32_t capacity);

inline Psn expected_psn(const QueuePair& qp) {
  return qp.responder.expected_psn;
}
/// Whether an ACK or NAK is to be sent.
inline bool owes_ack(const QueuePair& qp) {
  return qp.responder.ack.has_value();
}
/// READs and atomics whose responses have not all been sent.
inline uint32_t pending_resources(const QueuePair& qp) {
  return qp.responder.pending_resources;
}

}  // namespace urxe
