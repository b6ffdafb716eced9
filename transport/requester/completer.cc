// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/completer.h"

#include <algorithm>
#include <cstring>

#include "packet/wire/aeth_syndrome.h"
#include "transport/memory/sge_copy.h"
#include "transport/observation/note_cause.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/requester/acknowledge.h"
#include "transport/requester/note_answer.h"
#include "transport/requester/read_gaps.h"
#include "transport/requester/requester.h"
#include "transport/requester/retry.h"
#include "transport/requester/round_trip.h"

namespace urxe {
namespace {

/// How often, without progress, responses are asked for again because they begin anew, at no retry:
/// it may be duplicates that seem to begin.
constexpr uint32_t kMostAskedAnew = 4;

void count_completed(Counters& counters, const SendWqe& wqe) {
  if (is_local(wqe) || is_flush(wqe)) return;
  if (is_read(wqe)) {
    ++counters.rdma_reads;
  } else if (is_atomic(wqe) || is_atomic_write(wqe)) {
    ++counters.atomics;
  } else if (send_completion_opcode(wqe.opcode) == IBV_WC_RDMA_WRITE) {
    ++counters.rdma_writes;
  } else {
    ++counters.sends;
  }
}

/// Restarts timers and counts after packets were acknowledged.
void settle(ChannelAdapter& ca, QueuePair& qp, Instant now, uint32_t acknowledged) {
  if (acknowledged == 0) return;
  advance_over_kept(ca, qp);
  note_progress(ca, qp, now);
  repair_oldest_gap(ca, qp);
  report_drained(ca, qp);
}

void take_credits(QueuePair& qp, const Aeth& aeth) {
  if (ack_kind(aeth.syndrome) != AckKind::kAck) return;
  const auto credits = credits_from_code(syndrome_value(aeth.syndrome));
  RequesterState& req = qp.requester;
  if (credits) {
    const Ssn limit = credit_limit(aeth.msn, *credits);
    if (req.limit_ssn != limit) req.credits_due.reset();
    req.limit_ssn = limit;
  } else {
    req.limit_ssn.reset();
  }
}

void fail_for_nak(ChannelAdapter& ca, QueuePair& qp, uint8_t syndrome) {
  ++ca.counters.other_naks_received;
  note_answer(qp, ErrorReason::kNak, syndrome);
  switch (static_cast<NakCode>(syndrome_value(syndrome))) {
    case NakCode::kInvalidRequest:
      return fail_oldest_send(ca, qp, IBV_WC_REM_INV_REQ_ERR);
    case NakCode::kRemoteAccessError:
      return fail_oldest_send(ca, qp, IBV_WC_REM_ACCESS_ERR);
    case NakCode::kRemoteOperationalError:
      return fail_oldest_send(ca, qp, IBV_WC_REM_OP_ERR);
    default:
      return fail_oldest_send(ca, qp, IBV_WC_BAD_RESP_ERR);
  }
}

/// Handles a NAK. All packets before the one that it names are acknowledged by now.
void receive_nak(ChannelAdapter& ca, QueuePair& qp, uint8_t syndrome, Instant now) {
  if (ack_kind(syndrome) == AckKind::kRnrNak) {
    ++ca.counters.rnr_naks_received;
    ++qp.counters.rnr_naks_received;
    retry_after_rnr(ca, qp, now, syndrome_value(syndrome));
    note_survived(ca, qp, ErrorReason::kRnrNak, syndrome);
  } else if (ack_kind(syndrome) == AckKind::kNak &&
             static_cast<NakCode>(syndrome_value(syndrome)) == NakCode::kPsnSequenceError) {
    ++ca.counters.sequence_naks_received;
    ++qp.counters.sequence_naks_received;
    retry_after_nak(ca, qp, now);
    note_survived(ca, qp, ErrorReason::kSequenceNak, syndrome);
  } else {
    fail_for_nak(ca, qp, syndrome);
  }
}

/// Responses that were asked for again have begun with a gap once more.
void ask_anew(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  ++qp.requester.asked_anew;
  qp.path->note_loss(now);
  ask_for_rest(ca, qp, now);
}

/// Implied NAK (IBTA vol. 1, 9.7.5.1): an answer for a later packet than a READ or atomic whose own
/// response has not come.
void receive_implied_nak(ChannelAdapter& ca, QueuePair& qp, Psn psn, Instant now) {
  RequesterState& req = qp.requester;
  // Responses that were on their way go on. Those that were asked for again begin anew; if their
  // first one is lost, too, it must be asked for once more.
  const bool begins_anew = req.first_ahead && !psn.is_after(*req.first_ahead) &&
                           now - req.awaits_since >= Duration{qp.path->round_trip().ns / 2};
  if (req.resending) {
    if (begins_anew && req.asked_anew < kMostAskedAnew) ask_anew(ca, qp, now);
    return;
  }
  req.first_ahead = psn;
  ++ca.counters.implied_naks;
  retry_after_loss(ca, qp, now);
  note_missing_response(ca, qp);
}

/// Fails the oldest element for a response that breaks the protocol (9.7.5.2: bad response).
void fail_bad_response(ChannelAdapter& ca, QueuePair& qp, const Headers& headers) {
  ErrorCause cause;
  cause.reason = ErrorReason::kBadResponse;
  cause.opcode = headers.bth.opcode.value;
  cause.psn = headers.bth.psn;
  note_cause(qp, cause);
  ca.counters.drop(DropReason::kMalformedResponse);
  fail_oldest_send(ca, qp, IBV_WC_BAD_RESP_ERR);
}

/// Whether the packet is a NAK that refuses a part of the oldest element (9.7.5.2). The element
/// then fails, even if responses to earlier parts are missing.
bool refuses_oldest(QueuePair& qp, const Headers& headers) {
  const uint8_t syndrome = headers.aeth.syndrome;
  const SendWqe& wqe = qp.sq.at(qp.sq.oldest());
  return ack_kind(syndrome) == AckKind::kNak &&
         static_cast<NakCode>(syndrome_value(syndrome)) != NakCode::kPsnSequenceError &&
         packet_index(wqe, headers.bth.psn) < wqe.packets;
}

void receive_acknowledge(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, uint32_t offset,
                         Instant now) {
  // A reserved syndrome is neither an ACK nor a NAK: its low bits are no NAK code.
  if (ack_kind(headers.aeth.syndrome) == AckKind::kReserved) {
    note_answer(qp, ErrorReason::kReservedSyndrome, headers.aeth.syndrome);
    return fail_bad_response(ca, qp, headers);
  }
  const bool is_ack = ack_kind(headers.aeth.syndrome) == AckKind::kAck;
  const uint32_t count = is_ack ? offset + 1 : offset;
  const uint32_t acknowledged = acknowledge(ca, qp, count);
  if (acknowledged > 0) take_round_trip(ca, qp, qp.requester.oldest_unacked - 1, now);
  settle(ca, qp, now, acknowledged);
  if (qp.state() == IBV_QPS_ERR) return;
  if (acknowledged < count) {
    if (refuses_oldest(qp, headers)) return fail_for_nak(ca, qp, headers.aeth.syndrome);
    if (is_ack && take_ack_ahead(ca, qp, headers.bth.psn, now)) return;
    return receive_implied_nak(ca, qp, headers.bth.psn, now);
  }
  if (!is_ack) receive_nak(ca, qp, headers.aeth.syndrome, now);
}

void receive_read_response(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                           Instant now) {
  RequesterState& req = qp.requester;
  const uint32_t position = qp.sq.oldest();
  const SendWqe& wqe = qp.sq.at(position);
  const uint32_t index = packet_index(wqe, req.oldest_unacked);
  const uint64_t offset = static_cast<uint64_t>(index) * qp.mtu;
  if (packet.payload.size() != std::min<uint64_t>(qp.mtu, wqe.length - offset)) {
    return fail_bad_response(ca, qp, packet.headers);
  }
  if (!scatter(ca.memory, qp.pd, qp.sq.sges(position), offset, packet.payload)) {
    return fail_oldest_send(ca, qp, IBV_WC_LOC_PROT_ERR);
  }
  take_round_trip(ca, qp, packet.headers.bth.psn, now);
  advance_oldest(ca, qp, 1);
  settle(ca, qp, now, 1);
}

/// The one response of the oldest element has come.
void complete_answered(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, Instant now) {
  if (qp.requester.rd_atomic_in_flight > 0) --qp.requester.rd_atomic_in_flight;
  take_round_trip(ca, qp, packet.headers.bth.psn, now);
  advance_oldest(ca, qp, 1);
  settle(ca, qp, now, 1);
}

void receive_atomic_response(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                             Instant now) {
  uint8_t original[sizeof(uint64_t)];
  std::memcpy(original, &packet.headers.atomic_original, sizeof original);
  if (!scatter(ca.memory, qp.pd, qp.sq.sges(qp.sq.oldest()), 0, original)) {
    return fail_oldest_send(ca, qp, IBV_WC_LOC_PROT_ERR);
  }
  complete_answered(ca, qp, packet, now);
}

/// The response to an ATOMIC WRITE or a FLUSH is that to a READ of no bytes.
void receive_empty_response(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                            Instant now) {
  const bool is_only = packet.headers.bth.opcode.operation() == Operation::kReadResponseOnly;
  if (!is_only || !packet.payload.empty()) {
    return fail_bad_response(ca, qp, packet.headers);
  }
  complete_answered(ca, qp, packet, now);
}

/// A READ or atomic response acknowledges all packets before it. It must be the next response due.
void receive_data_response(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet,
                           uint32_t offset, Instant now) {
  const uint32_t acknowledged = acknowledge(ca, qp, offset);
  settle(ca, qp, now, acknowledged);
  if (qp.state() == IBV_QPS_ERR) return;
  if (acknowledged < offset) {
    if (take_response_ahead(ca, qp, packet, now)) return;
    return receive_implied_nak(ca, qp, packet.headers.bth.psn, now);
  }
  const SendWqe& wqe = qp.sq.at(qp.sq.oldest());
  const bool atomic = packet.headers.bth.opcode.operation() == Operation::kAtomicAcknowledge;
  if (atomic ? !is_atomic(wqe) : is_atomic(wqe) || !has_response(wqe)) {
    return fail_bad_response(ca, qp, packet.headers);
  }
  if (atomic) {
    receive_atomic_response(ca, qp, packet, now);
  } else if (is_atomic_write(wqe) || is_flush(wqe)) {
    receive_empty_response(ca, qp, packet, now);
  } else {
    receive_read_response(ca, qp, packet, now);
  }
}

}  // namespace

void complete_oldest_send(ChannelAdapter& ca, QueuePair& qp) {
  const SendWqe& wqe = qp.sq.at(qp.sq.oldest());
  count_completed(ca.counters, wqe);
  note_completed(qp, wqe, true);
  const bool signaled = qp.sq_sig_all || (wqe.send_flags & IBV_SEND_SIGNALED) != 0;
  ibv_wc wc{};
  wc.wr_id = wqe.wr_id;
  wc.status = IBV_WC_SUCCESS;
  wc.opcode = send_completion_opcode(wqe.opcode);
  wc.byte_len = is_atomic(wqe) ? sizeof(uint64_t) : wqe.length;
  wc.qp_num = qp.qpn.value();
  qp.sq.retire();
  ++qp.counters.sends_completed;
  if (signaled) ca.complete(*qp.send_cq, qp, wc, false, qp.sq.freed_by_completion());
}

void complete_local_operations(ChannelAdapter& ca, QueuePair& qp) {
  RequesterState& req = qp.requester;
  while (qp.sq.oldest() != req.assign_position) {
    const uint32_t position = qp.sq.oldest();
    const SendWqe& wqe = qp.sq.at(position);
    if (!is_local(wqe) || wqe.failed_locally) return;
    if (req.send_position == position) ++req.send_position;
    complete_oldest_send(ca, qp);
  }
}

bool is_draining(const QueuePair& qp) {
  const RequesterState& req = qp.requester;
  return req.outstanding() != 0 || req.send_position != req.assign_position;
}

void report_drained(ChannelAdapter& ca, QueuePair& qp) {
  if (!qp.sq_drained_pending || qp.state() != IBV_QPS_SQD || is_draining(qp)) return;
  qp.sq_drained_pending = false;
  ca.raise(IBV_EVENT_SQ_DRAINED, &qp);
}

void receive_response(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, Instant now) {
  const Headers& headers = packet.headers;
  const OpcodeInfo& info = opcode_info(headers.bth.opcode);
  const bool has_aeth = has(info.extensions, Ext::kAeth);
  const Psn psn = headers.bth.psn;
  const uint32_t offset = (psn.value() - qp.requester.oldest_unacked.value()) & Psn::kMask;
  if (offset >= qp.requester.outstanding()) {
    take_doubtful_sample(qp);
    // A repeated ACK of the last message still carries the present credits.
    if (has_aeth && psn + 1 == qp.requester.oldest_unacked) {
      take_credits(qp, headers.aeth);
      ca.active.push_back(qp);
    }
    return ca.counters.drop(DropReason::kUnexpectedPsn);
  }
  if (has_aeth) take_credits(qp, headers.aeth);
  if (headers.bth.opcode.operation() == Operation::kAcknowledge) {
    receive_acknowledge(ca, qp, headers, offset, now);
  } else {
    receive_data_response(ca, qp, packet, offset, now);
  }
}

}  // namespace urxe
