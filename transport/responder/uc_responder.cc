// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/uc_responder.h"

#include "transport/limits.h"
#include "transport/memory/sge_copy.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/responder/note_refusal.h"
#include "transport/responder/receive_source.h"
#include "transport/responder/request_execution.h"

namespace urxe {
namespace {

using Message = ResponderState::Message;

/// Drops the message under way. Its remaining packets are dropped too: they have no First.
void drop_message(ChannelAdapter& ca, QueuePair& qp, DropReason reason) {
  qp.responder.message = Message::kNone;
  ca.counters.drop(reason);
}

void drop_malformed(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, Check check) {
  note_dropped(ca, qp, headers, check);
  drop_message(ca, qp, DropReason::kMalformedRequest);
}

void drop_for_want_of_receive(ChannelAdapter& ca, QueuePair& qp, const Headers& headers) {
  note_dropped(ca, qp, headers, Check::kNone);
  drop_message(ca, qp, DropReason::kNoReceive);
}

/// The next `bytes` of the WRITE may not be written.
void drop_write(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, uint64_t bytes) {
  const ResponderState& resp = qp.responder;
  note_dropped_write(ca, qp, headers, {resp.write_rkey, resp.write_va, bytes});
  drop_message(ca, qp, DropReason::kMalformedRequest);
}

/// The element's own list is bad (class A).
void fail_receive(ChannelAdapter& ca, QueuePair& qp) {
  note_failed_receive(ca, qp);
  complete_receive_in_error(ca, qp, IBV_WC_LOC_PROT_ERR);
  enter_error(ca, qp, OwedAnswers::kDrop);
}

void execute_uc_send(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                     const OpcodeInfo& info) {
  ResponderState& resp = qp.responder;
  const auto room = next_receive_length(qp);
  if (!room) return drop_for_want_of_receive(ca, qp, packet.headers);
  if (info.starts_message) resp.received = 0;
  const uint64_t end = resp.received + packet.payload.size();
  if (end > *room || end > kMaxMessage) {
    return drop_malformed(ca, qp, packet.headers, Check::kReceiveLength);
  }
  take_receive(ca, qp);
  const TakenReceive& receive = *resp.receive;
  if (!scatter(ca.memory, receive.pd, receive.list, resp.received, packet.payload)) {
    return fail_receive(ca, qp);
  }
  resp.received = end;
  resp.message = info.ends_message ? Message::kNone : Message::kSend;
  if (info.ends_message) complete_receive(ca, qp, packet.headers, static_cast<uint32_t>(end));
}

void execute_uc_write(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                      const OpcodeInfo& info) {
  ResponderState& resp = qp.responder;
  const Headers& headers = packet.headers;
  if (info.starts_message) {
    const uint32_t length = headers.reth.dma_length;
    if (length > kMaxMessage) return drop_malformed(ca, qp, headers, Check::kMessageLength);
    if (!begin_write(ca, qp, headers.reth)) return drop_write(ca, qp, headers, length);
  }
  const size_t bytes = packet.payload.size();
  const bool fits = info.ends_message ? bytes == resp.write_left : bytes < resp.write_left;
  if (!fits) return drop_malformed(ca, qp, headers, Check::kMessageLength);
  const bool needs_receive = with_immediate(headers.bth.opcode.operation());
  if (needs_receive && !take_receive(ca, qp)) return drop_for_want_of_receive(ca, qp, headers);
  if (!continue_write(ca, qp, packet.payload)) return drop_write(ca, qp, headers, bytes);
  resp.message = info.ends_message ? Message::kNone : Message::kWrite;
  if (!info.ends_message) return;
  ++ca.counters.write_requests;
  qp.completion_counters.note(Counted::kRemoteWrite, true, resp.write_length);
  ++qp.counters.requests_executed;
  if (needs_receive) complete_receive(ca, qp, headers, resp.write_length);
}

/// A packet that does not continue the message. Of the remains of a message that was dropped
/// before, and after a gap, the reason is noted already.
void drop_out_of_sequence(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, bool gap) {
  if (!gap && qp.responder.message != Message::kNone) {
    note_dropped(ca, qp, headers, Check::kOpcodeSequence);
  }
  drop_message(ca, qp, DropReason::kOutOfSequence);
}

/// 9.8.2.2.2: after a gap or a broken message, reception starts again at the next First or Only.
bool is_in_sequence(ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                    const OpcodeInfo& info) {
  ResponderState& resp = qp.responder;
  const Bth& bth = headers.bth;
  const bool gap = bth.psn != resp.expected_psn;
  if (gap) note_gap(ca, qp);
  resp.expected_psn = bth.psn + 1;
  const Message current = is_send(bth.opcode.operation()) ? Message::kSend : Message::kWrite;
  if (info.starts_message) {
    if (resp.message != Message::kNone) drop_out_of_sequence(ca, qp, headers, gap);
    return true;
  }
  if (!gap && resp.message == current) return true;
  drop_out_of_sequence(ca, qp, headers, gap);
  return false;
}

}  // namespace

void receive_uc_request(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet) {
  const Bth& bth = packet.headers.bth;
  const OpcodeInfo& info = opcode_info(bth.opcode);
  if (!qp.responder.established) note_first_request(ca, qp);
  if (!is_in_sequence(ca, qp, packet.headers, info)) return;
  if (!operation_is_enabled(qp, bth.opcode.operation())) {
    return drop_malformed(ca, qp, packet.headers, Check::kOperation);
  }
  if (!payload_is_valid(qp, info, packet.payload.size())) {
    return drop_malformed(ca, qp, packet.headers, Check::kPayloadLength);
  }
  if (is_send(bth.opcode.operation())) return execute_uc_send(ca, qp, packet, info);
  execute_uc_write(ca, qp, packet, info);
}

}  // namespace urxe
