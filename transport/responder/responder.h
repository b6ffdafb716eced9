// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/roce_packet.h"
#include "transport/queue_pair/queue_pair.h"
#include "transport/requester/requester.h"

namespace urxe {

// The responder of a connected queue pair (IBTA vol. 1, 9.7.4): checks request packets in the
// specification's order (PSN, opcode sequence, validity, resources, length, keys), executes them
// and answers.

/// A request packet for a queue pair in RTR, RTS, SQD or SQE.
void receive_request(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet);

/// The packet that repeats a request already executed (9.7.5.1, duplicate requests).
void receive_duplicate(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet);

/// Sends up to `budget` answers: READ and atomic responses in PSN order, then the ACK or NAK. ACKs
/// that may wait are only sent where `all_acks`.
Turn transmit_responses(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, uint32_t budget,
                        bool all_acks);

/// Owes an ACK for everything up to the last SEND or WRITE packet received in order: one that named
/// a READ or atomic after it could be taken for that one's answer. `urgent`: it goes out with the
/// next transmission.
void owe_ack(ChannelAdapter& ca, QueuePair& qp, bool urgent);

/// Owes a NAK for the expected PSN. NAKs other than sequence errors and RNR end the connection:
/// call refuse() for those.
void owe_nak(ChannelAdapter& ca, QueuePair& qp, Psn psn, uint8_t syndrome);

/// What a bad request breaks, as the responder's application is told (9.9.3, 11.6.3.2).
enum class RequestFault : uint8_t {
  kOperation,  ///< unsupported, not enabled or out of sequence: IBV_EVENT_QP_REQ_ERR
  kAccess,     ///< keys, bounds, alignment, lengths, too many READs: IBV_EVENT_QP_ACCESS_ERR
  kInReceive,  ///< a receive that has completed in error tells it
};

/// NAK, asynchronous event, and the Error state (9.9.3, responder classes A and C).
void refuse(ChannelAdapter& ca, QueuePair& qp, Psn psn, NakCode code, RequestFault fault);

// The ring of READs and atomics (responder_resources.cc).

/// Gives the ring room for `capacity`, no fewer than are pending; keeps the newest.
void set_resource_capacity(ResponderState& resp, uint32_t capacity);
/// Whether add_resource() will give one.
[[nodiscard]] bool has_room_for_resource(ResponderState& resp);
/// A new pending one; nullptr: as many are pending as the queue pair takes.
ResponderResource* add_resource(ResponderState& resp);
/// The oldest pending one; nullptr: none.
ResponderResource* first_pending(ResponderState& resp);
/// Whether a READ through this key waits for its first answer.
[[nodiscard]] bool is_being_read(ResponderState& resp, RKey rkey);
/// The one that has the response `psn`; nullptr: not kept any more.
ResponderResource* find_resource(ResponderState& resp, Psn psn);
/// Makes `again` pending from response `index`, and later ones that are half sent start afresh,
/// since the requester takes responses in order only.
void execute_again(ResponderState& resp, ResponderResource& again, uint32_t index,
                   uint32_t reply_length, uint32_t mtu);
void finish_pending(ResponderState& resp, ResponderResource& done);

}  // namespace urxe
