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

/// The element's own list is bad (class A).
void fail_receive(ChannelAdapter& ca, QueuePair& qp) {
  note_failed_receive(ca, qp);
  complete_receive_in_error(ca, qp, IBV_WC_LOC_PROT_ERR);
  enter_error(ca, qp, OwedAnswers::kDrop);
}

void execute_send(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                  const OpcodeInfo& info) {
  ResponderState& resp = qp.responder;
  if (!take_receive(ca, qp)) return drop_message(ca, qp, DropReason::kNoReceive);
  if (info.starts_message) resp.received = 0;
  const TakenReceive& receive = *resp.receive;
  const uint64_t end = resp.received + packet.payload.size();
  if (end > receive.length || end > kMaxMessage) {
    return drop_message(ca, qp, DropReason::kMalformedRequest);
  }
  if (!scatter(ca.memory, receive.pd, receive.list, resp.received, packet.payload)) {
    return fail_receive(ca, qp);
  }
  resp.received = end;
  resp.message = info.ends_message ? Message::kNone : Message::kSend;
  if (info.ends_message) complete_receive(ca, qp, packet.headers, static_cast<uint32_t>(end));
}

void execute_write(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                   const OpcodeInfo& info) {
  ResponderState& resp = qp.responder;
  const Headers& headers = packet.headers;
  if (info.starts_message &&
      (headers.reth.dma_length > kMaxMessage || !begin_write(ca, qp, headers.reth))) {
    return drop_message(ca, qp, DropReason::kMalformedRequest);
  }
  const size_t bytes = packet.payload.size();
  const bool fits = info.ends_message ? bytes == resp.write_left : bytes < resp.write_left;
  if (!fits) return drop_message(ca, qp, DropReason::kMalformedRequest);
  const bool needs_receive = with_immediate(headers.bth.opcode.operation());
  if (needs_receive && !take_receive(ca, qp)) return drop_message(ca, qp, DropReason::kNoReceive);
  if (!continue_write(ca, qp, packet.payload)) {
    return drop_message(ca, qp, DropReason::kMalformedRequest);
  }
  resp.message = info.ends_message ? Message::kNone : Message::kWrite;
  if (!info.ends_message) return;
  ++ca.counters.write_requests;
  ++qp.counters.requests_executed;
  if (needs_receive) complete_receive(ca, qp, headers, resp.write_length);
}

/// 9.8.2.2.2: after a gap or a broken message, reception starts again at the next First or Only.
bool is_in_sequence(ChannelAdapter& ca, QueuePair& qp, const Bth& bth, const OpcodeInfo& info) {
  ResponderState& resp = qp.responder;
  const bool gap = bth.psn != resp.expected_psn;
  resp.expected_psn = bth.psn + 1;
  const Message current = is_send(bth.opcode.operation()) ? Message::kSend : Message::kWrite;
  if (info.starts_message) {
    if (resp.message != Message::kNone) drop_message(ca, qp, DropReason::kOutOfSequence);
    return true;
  }
  if (!gap && resp.message == current) return true;
  drop_message(ca, qp, DropReason::kOutOfSequence);
  return false;
}

}  // namespace

void receive_uc_request(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet) {
  const Bth& bth = packet.headers.bth;
  const OpcodeInfo& info = opcode_info(bth.opcode);
  if (!qp.responder.established) note_first_request(ca, qp);
  if (!is_in_sequence(ca, qp, bth, info)) return;
  if (!operation_is_enabled(qp, bth.opcode.operation()) ||
      !payload_is_valid(qp, info, packet.payload.size())) {
    return drop_message(ca, qp, DropReason::kMalformedRequest);
  }
  if (is_send(bth.opcode.operation())) return execute_send(ca, qp, packet, info);
  execute_write(ca, qp, packet, info);
}

}  // namespace urxe
