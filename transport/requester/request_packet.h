// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/wire/headers.h"
#include "transport/device/channel_adapter.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// The request packets of a work queue element of an RC, XRC or UC queue pair (IBTA vol. 1, 9.4).

/// One packet of a message.
struct RequestPacket {
  Headers headers;
  uint64_t offset = 0;   ///< into the message
  uint32_t payload = 0;  ///< bytes
  uint32_t psns = 1;     ///< PSNs that it takes; a READ request: one per response
};

/// The element that a packet in flight belongs to.
uint32_t position_of(QueuePair& qp, Psn psn);

/// Whether the message uses a receive work queue element of the peer's.
bool needs_receive(const SendWqe& wqe);

/// PSNs that the message takes.
uint32_t message_packets(const QueuePair& qp, const SendWqe& wqe);

/// Whether an ACK right behind the message shares the datagram of its last packet. A datagram holds
/// up to `segments` packets of equal size, of which the last may be shorter (TxBatch).
bool shares_datagram_with_ack(const QueuePair& qp, const SendWqe& wqe, size_t segments);

/// The packet of `wqe` that begins at `psn`, which lies in the message. AckReq is not set.
RequestPacket request_packet_at(const QueuePair& qp, const SendWqe& wqe, Psn psn);

enum class Appended : uint8_t { kYes, kBatchFull, kRefused };

/// Appends a packet of the element at `position` to the batch. kRefused: a key of the list, or its
/// range, is not valid. `may_scatter`: the payload may stay where it is until the batch is sent.
/// Should the application change it meanwhile, which it must not, the packet has a wrong ICRC. If
/// the packet is sent again, it must be a copy.
Appended append_request(const ChannelAdapter& ca, QueuePair& qp, uint32_t position,
                        const RequestPacket& packet, bool may_scatter, TxBatch& batch);

/// Copies all data of the element at `position` to `out`: of a message that is one packet. False: a
/// key of the list, or its range, is not valid.
bool gather_all(const ChannelAdapter& ca, QueuePair& qp, uint32_t position, uint8_t* out);

}  // namespace urxe
