// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/responder.h"

#include "packet/base/fence.h"
#include "transport/memory/sge_copy.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/responder/atomic_execution.h"
#include "transport/responder/flush_execution.h"
#include "transport/responder/note_refusal.h"
#include "transport/responder/receive_source.h"
#include "transport/responder/refusal.h"
#include "transport/responder/request_execution.h"
#include "transport/responder/responder_resources.h"

namespace urxe {
namespace {

using Message = ResponderState::Message;

/// 9.7.4.1.2: no other message interrupts a message, and only a message that has begun continues.
bool sequence_is_valid(const ResponderState& resp, Operation op, const OpcodeInfo& info) {
  if (resp.message == Message::kNone) return info.starts_message;
  if (info.starts_message) return false;
  return resp.message == (is_send(op) ? Message::kSend : Message::kWrite);
}

void end_message(ResponderState& resp) {
  resp.message = Message::kNone;
  resp.msn = resp.msn + 1;
}

/// Ends the message that holds a receive. kAnswered: the completion is lost; the queue pair is
/// about to fail, and the peer must not hear that the message is done.
Verdict end_received_message(ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                             uint64_t bytes) {
  complete_receive(ca, qp, headers, static_cast<uint32_t>(bytes));
  if (qp.cq_failed) return Verdict::kAnswered;
  end_message(qp.responder);
  return Verdict::kExecuted;
}

/// Invalidates a key for the SEND that holds a receive. A key that cannot be invalidated is the
/// owner's affair: the receive completes in error, the queue pair fails, and no NAK tells the peer
/// (9.9.6.3, class J).
bool invalidate(ChannelAdapter& ca, QueuePair& qp, RKey rkey) {
  if (ca.memory.invalidate(qp.responder.pd, qp.qpn, rkey)) return true;
  note_failed_invalidate(qp, rkey);
  complete_receive_in_error(ca, qp, IBV_WC_MW_BIND_ERR);
  enter_error(ca, qp, OwedAnswers::kSend);
  return false;
}

Verdict execute_send(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                     const OpcodeInfo& info) {
  ResponderState& resp = qp.responder;
  const Operation op = packet.headers.bth.opcode.operation();
  if (info.starts_message) {
    if (!take_receive(ca, qp)) {
      owe_rnr_nak(ca, qp);
      return Verdict::kAnswered;
    }
    resp.received = 0;
  }
  const TakenReceive& receive = *resp.receive;
  const uint64_t end = resp.received + packet.payload.size();
  if (end > receive.length || end > kMaxMessage) {
    return refuse_receive(ca, qp, packet.headers, IBV_WC_LOC_LEN_ERR, NakCode::kInvalidRequest);
  }
  if (!scatter(ca.memory, receive.pd, receive.list, resp.received, packet.payload)) {
    return refuse_receive(ca, qp, packet.headers, IBV_WC_LOC_PROT_ERR,
                          NakCode::kRemoteOperationalError);
  }
  resp.received = end;
  resp.message = Message::kSend;
  // A SEND that is not fenced may be executed before an earlier READ is answered (10.8.3.3), and
  // could then invalidate the READ's key. This responder avoids that.
  if (with_invalidate(op) && is_being_read(resp, packet.headers.invalidate)) {
    resp.held_send.emplace(packet.headers);
    const auto held_end = ca.held.end(qp);
    resp.newest_behind_held = held_end ? std::optional(*held_end - 1) : std::nullopt;
    return Verdict::kAnswered;
  }
  if (with_invalidate(op) && !invalidate(ca, qp, packet.headers.invalidate)) {
    return Verdict::kAnswered;
  }
  return info.ends_message ? end_received_message(ca, qp, packet.headers, end) : Verdict::kExecuted;
}

Verdict execute_write(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                      const OpcodeInfo& info) {
  ResponderState& resp = qp.responder;
  const Operation op = packet.headers.bth.opcode.operation();
  if (with_immediate(op) && !take_receive(ca, qp)) {
    owe_rnr_nak(ca, qp);
    return Verdict::kAnswered;
  }
  if (info.starts_message) {
    const uint32_t length = packet.headers.reth.dma_length;
    if (length > kMaxMessage) {
      return refuse_request(ca, qp, packet.headers, Check::kMessageLength);
    }
    if (!begin_write(ca, qp, packet.headers.reth)) {
      return refuse_write_key(ca, qp, packet.headers, length);
    }
  }
  const auto bytes = static_cast<uint32_t>(packet.payload.size());
  const bool fits = info.ends_message ? bytes == resp.write_left : bytes < resp.write_left;
  if (!fits) return refuse_request(ca, qp, packet.headers, Check::kMessageLength);
  if (!continue_write(ca, qp, packet.payload)) {
    return refuse_write_key(ca, qp, packet.headers, bytes);
  }
  resp.message = Message::kWrite;
  if (info.ends_message) {
    ++ca.counters.write_requests;
    qp.completion_counters.note(Counted::kRemoteWrite, true, resp.write_length);
    ++qp.counters.requests_executed;
    if (with_immediate(op)) {
      return end_received_message(ca, qp, packet.headers, resp.write_length);
    }
    end_message(resp);
  }
  return Verdict::kExecuted;
}

Verdict execute_read(ChannelAdapter& ca, QueuePair& qp, const Headers& headers) {
  ResponderState& resp = qp.responder;
  const Reth& reth = headers.reth;
  if (reth.dma_length > kMaxMessage) {
    return refuse_request(ca, qp, headers, Check::kMessageLength);
  }
  if (reth.dma_length != 0 && !ca.memory.remote(resp.pd, qp.qpn, reth.rkey, reth.va,
                                                reth.dma_length, IBV_ACCESS_REMOTE_READ)) {
    return refuse_access(ca, qp, headers, {reth.rkey, reth.va, reth.dma_length},
                         IBV_ACCESS_REMOTE_READ);
  }
  ResponderResource* resource = add_resource(resp);
  if (resource == nullptr) return refuse_request(ca, qp, headers, Check::kTooManyReads);
  end_message(resp);
  ++ca.counters.read_requests;
  ++qp.counters.requests_executed;
  resource->first_psn = resp.expected_psn;
  resource->va = reth.va;
  resource->rkey = reth.rkey;
  resource->pd = resp.pd;
  resource->length = resource->reply_length = reth.dma_length;
  resource->packets = reth.dma_length == 0 ? 1 : (reth.dma_length - 1) / qp.mtu + 1;
  resource->until = resource->packets;
  resource->msn = resp.msn;
  resp.advance(resource->packets - 1);
  return Verdict::kExecuted;
}

/// Keeps the answer to a request that has been executed, for the response and for duplicates.
ResponderResource& keep_answer(QueuePair& qp, ResponderResource::Kind kind) {
  ResponderState& resp = qp.responder;
  ResponderResource* resource = add_resource(resp);
  end_message(resp);
  resource->kind = kind;
  resource->first_psn = resp.expected_psn;
  resource->until = 1;
  resource->msn = resp.msn;
  return *resource;
}

Verdict execute_atomic(ChannelAdapter& ca, QueuePair& qp, const Headers& headers) {
  const Expected<uint64_t, NakCode> original = modify_atomically(ca, qp, headers);
  if (!original) {
    const AtomicEth& atomic = headers.atomic;
    return refuse_atomic(ca, qp, headers, {atomic.rkey, atomic.va, sizeof(uint64_t)},
                         {original.error(), IBV_ACCESS_REMOTE_ATOMIC});
  }
  ++ca.counters.atomic_requests;
  ++qp.counters.requests_executed;
  keep_answer(qp, ResponderResource::Kind::kAtomic).original = *original;
  return Verdict::kExecuted;
}

Verdict execute_atomic_write(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet) {
  const Expected<void, NakCode> written = write_atomically(ca, qp, packet);
  if (!written) {
    const Reth& reth = packet.headers.reth;
    return refuse_atomic(ca, qp, packet.headers, {reth.rkey, reth.va, reth.dma_length},
                         {written.error(), IBV_ACCESS_REMOTE_WRITE});
  }
  ++ca.counters.atomic_requests;
  ++qp.counters.requests_executed;
  keep_answer(qp, ResponderResource::Kind::kAtomicWrite);
  return Verdict::kExecuted;
}

/// Every WRITE and atomic before it has been executed: to make them visible is all that is left.
Verdict execute_flush(ChannelAdapter& ca, QueuePair& qp, const Headers& headers) {
  ResponderState& resp = qp.responder;
  const Check failed = check_flush(qp, headers);
  if (failed == Check::kOperation) return refuse_operation(ca, qp, headers, failed);
  if (failed != Check::kNone) return refuse_request(ca, qp, headers, failed);
  const RemoteRange range = flushed_range(ca.memory, headers);
  const int rights = flush_rights(headers.feth);
  if (!ca.memory.remote(resp.pd, qp.qpn, range.rkey, range.va, range.length, rights)) {
    return refuse_access(ca, qp, headers, range, rights);
  }
  if (!has_room_for_resource(resp)) return refuse_request(ca, qp, headers, Check::kTooManyReads);
  full_fence();
  ++ca.counters.flush_requests;
  ++qp.counters.requests_executed;
  keep_answer(qp, ResponderResource::Kind::kFlush);
  return Verdict::kExecuted;
}

Verdict execute(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                const OpcodeInfo& info) {
  const Operation op = packet.headers.bth.opcode.operation();
  if (qp.domain != nullptr && !use_named_queue(ca, qp, packet.headers)) {
    return refuse_operation(ca, qp, packet.headers, Check::kSharedQueue);
  }
  if (!operation_is_enabled(qp, op)) {
    return refuse_operation(ca, qp, packet.headers, Check::kOperation);
  }
  if (!sequence_is_valid(qp.responder, op, info)) {
    return refuse_operation(ca, qp, packet.headers, Check::kOpcodeSequence);
  }
  if (!payload_is_valid(qp, info, packet.payload.size())) {
    return refuse_request(ca, qp, packet.headers, Check::kPayloadLength);
  }
  if (is_send(op)) return execute_send(ca, qp, packet, info);
  if (is_write_request(op)) return execute_write(ca, qp, packet, info);
  if (is_atomic_request(op)) return execute_atomic(ca, qp, packet.headers);
  if (op == Operation::kAtomicWrite) return execute_atomic_write(ca, qp, packet);
  if (op == Operation::kFlush) return execute_flush(ca, qp, packet.headers);
  return execute_read(ca, qp, packet.headers);
}

/// The packet with the expected PSN has been executed.
void note_executed(ChannelAdapter& ca, QueuePair& qp, const Bth& bth) {
  ResponderState& resp = qp.responder;
  const bool answered_otherwise = has_own_response(bth.opcode.operation());
  if (!answered_otherwise) resp.acknowledgeable = resp.expected_psn;
  resp.advance(1);
  ++resp.unacked_packets;
  if (opcode_info(bth.opcode).starts_message) resp.unacked_at_start = resp.unacked_packets;
  if (resp.pending_resources > 0) ca.active.push_back(qp);
  if (bth.ack_req && !answered_otherwise) owe_ack(ca, qp, false);
}

/// False: the packet was not executed, or not yet.
bool receive_expected(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet) {
  ResponderState& resp = qp.responder;
  const OpcodeInfo& info = opcode_info(packet.headers.bth.opcode);
  if (!resp.established) note_first_request(ca, qp);
  resp.nak_outstanding = resp.rnr_nak_outstanding = false;
  if (resp.ack && resp.ack->is_nak) resp.ack.reset();  // the packet that it asked for has come
  if (execute(ca, qp, packet, info) != Verdict::kExecuted) return false;
  note_executed(ca, qp, packet.headers.bth);
  return true;
}

/// The packet before those that are held was executed, or (`executed` false) was not: then they
/// will come again.
void continue_with_held(ChannelAdapter& ca, QueuePair& qp, bool executed) {
  ResponderState& resp = qp.responder;
  while (executed) {
    const auto packet = ca.held.first_at(qp, resp.expected_psn);
    if (!packet) break;
    executed = receive_expected(ca, qp, *packet);
    if (resp.held.count != 0) ca.held.forget_first(qp);
  }
  if (resp.held_send) return;  // their turn comes after it
  if (!executed) return ca.held.forget_all(qp);
  // The requester waits to hear what else is missing, or that nothing is.
  if (resp.held.count != 0) return owe_sequence_nak(ca, qp);
  if (resp.ack) owe_ack(ca, qp, true);
}

/// The held SEND has been executed: those behind it come next. What found no place, or has lost it,
/// must be sent again.
void continue_behind_held(ChannelAdapter& ca, QueuePair& qp) {
  ResponderState& resp = qp.responder;
  const auto newest = std::exchange(resp.newest_behind_held, std::nullopt);
  if (resp.held.count != 0) continue_with_held(ca, qp, true);
  if (!newest || resp.expected_psn.is_after(*newest)) return;
  if (resp.held_send) return note_behind_held(resp, *newest);
  if (!resp.nak_outstanding && qp.state() != IBV_QPS_ERR) owe_sequence_nak(ca, qp);
}

}  // namespace

void resume_held_send(ChannelAdapter& ca, QueuePair& qp) {
  ResponderState& resp = qp.responder;
  if (!resp.held_send || is_being_read(resp, resp.held_send->invalidate)) return;
  const Headers headers = resp.held_send->headers();
  resp.held_send.reset();
  // The shared queue that the receive came from may be gone (annex A14).
  if (!holds_receive(qp)) {
    return static_cast<void>(refuse_operation(ca, qp, headers, Check::kSharedQueue));
  }
  if (!invalidate(ca, qp, headers.invalidate)) return;
  if (end_received_message(ca, qp, headers, resp.received) != Verdict::kExecuted) return;
  note_executed(ca, qp, headers.bth);
  continue_behind_held(ca, qp);
}

void receive_request(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, uint16_t port) {
  ResponderState& resp = qp.responder;
  const int32_t ahead = packet.headers.bth.psn.distance_from(resp.expected_psn);
  if (ahead >= 0 && resp.held_send) {
    receive_behind_held(ca, qp, packet, port, ahead);
  } else if (ahead > 0) {
    receive_ahead(ca, qp, packet, port, ahead);
  } else if (ahead < 0) {
    receive_duplicate(ca, qp, packet);
  } else {
    const bool executed = receive_expected(ca, qp, packet);
    if (resp.held.count != 0) continue_with_held(ca, qp, executed);
  }
}

}  // namespace urxe
