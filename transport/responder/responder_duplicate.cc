// SPDX-License-Identifier: BSD-2-Clause
// Duplicate requests (IBTA vol. 1, 9.7.5.1): their answer was lost or is late.
#include <algorithm>

#include "transport/responder/responder.h"
#include "transport/responder/responder_resources.h"

namespace urxe {
namespace {

using Kind = ResponderResource::Kind;

/// A READ is repeated, as a whole or from any of its responses on (9.7.5.1.4). The memory is read
/// again.
void read_again(ChannelAdapter& ca, QueuePair& qp, const Headers& headers) {
  ResponderState& resp = qp.responder;
  ResponderResource* resource = find_resource(resp, headers.bth.psn);
  if (resource == nullptr || resource->kind != Kind::kRead) {
    return ca.counters.drop(DropReason::kMalformedRequest);
  }
  const uint32_t index = (headers.bth.psn.value() - resource->first_psn.value()) & Psn::kMask;
  const uint64_t offset = static_cast<uint64_t>(index) * qp.mtu;
  const Reth& reth = headers.reth;
  if (reth.rkey != resource->rkey || reth.va != resource->va + offset ||
      offset + reth.dma_length > resource->length ||
      (reth.dma_length == 0 && resource->length != 0)) {
    return ca.counters.drop(DropReason::kMalformedRequest);
  }
  // What the request before has asked for and has not yet got is still owed.
  const uint32_t owed = resource->pending ? resource->reply_length : 0;
  const auto reply_length = std::max(static_cast<uint32_t>(offset + reth.dma_length), owed);
  const bool will_be_answered = resource->pending && resource->next == index &&
                                resource->resumed_at == index &&
                                resource->reply_length == reply_length;
  if (!will_be_answered) execute_again(resp, *resource, index, reply_length, qp.mtu);
  ca.active.push_back(qp);
}

/// An atomic, an ATOMIC WRITE or a FLUSH is repeated: the saved answer is sent, and nothing is
/// executed again (9.7.5.1.5, annex A19).
void answer_again(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, Kind kind) {
  ResponderState& resp = qp.responder;
  ResponderResource* resource = find_resource(resp, headers.bth.psn);
  if (resource == nullptr || resource->kind != kind) {
    return ca.counters.drop(DropReason::kMalformedRequest);
  }
  execute_again(resp, *resource, 0, 0, qp.mtu);
  ca.active.push_back(qp);
}

}  // namespace

void receive_duplicate(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet) {
  ++ca.counters.duplicate_requests;
  switch (packet.headers.bth.opcode.operation()) {
    case Operation::kReadRequest:
      return read_again(ca, qp, packet.headers);
    case Operation::kCompareSwap:
    case Operation::kFetchAdd:
      return answer_again(ca, qp, packet.headers, Kind::kAtomic);
    case Operation::kAtomicWrite:
      return answer_again(ca, qp, packet.headers, Kind::kAtomicWrite);
    case Operation::kFlush:
      return answer_again(ca, qp, packet.headers, Kind::kFlush);
    default:
      if (packet.headers.bth.ack_req) owe_ack(ca, qp, true);
  }
}

}  // namespace urxe
