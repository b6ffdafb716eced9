// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/requester.h"

#include <algorithm>

#include "transport/memory/sge_copy.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/requester/ack_request.h"
#include "transport/requester/completer.h"
#include "transport/requester/probe.h"
#include "transport/requester/read_gaps.h"
#include "transport/requester/repair.h"
#include "transport/requester/request_packet.h"
#include "transport/requester/retry.h"
#include "transport/requester/room.h"

namespace urxe {
namespace {

/// How long a queue pair without RNR retries waits for credits.
constexpr Duration kCreditPatience = milliseconds(1000);

/// Binds or invalidates a memory window, in the order of the send queue.
bool execute_local(ChannelAdapter& ca, const QueuePair& qp, const SendWqe& wqe) {
  if (wqe.opcode == IBV_WR_LOCAL_INV) return ca.memory.invalidate(qp.pd, qp.qpn, wqe.invalidate);
  return ca.memory.bind(qp.pd, qp.qpn, wqe.bind);
}

ibv_wc_status check_locally(const ChannelAdapter& ca, QueuePair& qp, uint32_t position) {
  const SendWqe& wqe = qp.sq.at(position);
  const bool writes_memory = is_read(wqe) || is_atomic(wqe);
  if (has_response(wqe) && qp.attr.max_rd_atomic == 0) return IBV_WC_LOC_QP_OP_ERR;
  if (std::max(wqe.length, wqe.flush_length) > kMaxMessage) return IBV_WC_LOC_LEN_ERR;
  if (is_atomic(wqe) && wqe.length < sizeof(uint64_t)) return IBV_WC_LOC_LEN_ERR;
  if (is_atomic_write(wqe) && wqe.length != sizeof(uint64_t)) return IBV_WC_LOC_LEN_ERR;
  if (!wqe.is_inline && !list_is_valid(ca.memory, qp.pd, qp.sq.sges(position), writes_memory)) {
    return IBV_WC_LOC_PROT_ERR;
  }
  return IBV_WC_SUCCESS;
}

/// Without credits one SEND may still go out to ask (9.7.7.2.5), and if there is no receive an RNR
/// NAK returns. A queue pair that has no RNR retries would fail then: it waits for the credits that
/// a responder announces when receives are posted, and sends without them only if none come.
bool waits_for_credits(ChannelAdapter& ca, QueuePair& qp, const SendWqe& wqe, Instant now) {
  RequesterState& req = qp.requester;
  if (qp.attr.rnr_retry != 0 || !beyond_credits(req, wqe)) return false;
  if (!req.credits_due) req.credits_due = now + kCreditPatience;
  if (*req.credits_due <= now) return false;
  ca.timers.schedule(qp, *req.credits_due);
  return true;
}

/// Whether the element at the point of transmission may send a packet now, if it is no READ that
/// must wait for other READs.
bool may_send(ChannelAdapter& ca, QueuePair& qp, const SendWqe& wqe, Instant now) {
  RequesterState& req = qp.requester;
  // A message that has begun continues even if the limit has become 0 since (in SQD).
  const uint32_t limit = std::max<uint32_t>(qp.attr.max_rd_atomic, 1);
  if (has_response(wqe) && req.rd_atomic_in_flight >= limit) return false;
  const bool nothing_in_flight = req.in_flight() == 0;
  if (nothing_in_flight) {
    if (waits_for_credits(ca, qp, wqe, now)) return false;
  } else if (req.silences > 0 || beyond_credits(req, wqe)) {
    return false;
  }
  if (req.turn_left == 0) {
    if (!qp.path->begin_turn(qp, nothing_in_flight)) return false;
    req.turn_left = qp.path->turn();
  }
  return true;
}

/// kMore if the element may send a packet now. A READ that has its turn on the path keeps it while
/// others have theirs in the window for READs. If it gave it away, the lines of both could go on
/// for ever calling queue pairs that wait in the other.
Turn admit(ChannelAdapter& ca, QueuePair& qp, const SendWqe& wqe, Instant now) {
  if (!may_send(ca, qp, wqe, now)) return Turn::kIdle;
  if (!is_read(wqe)) return Turn::kMore;
  switch (ca.reads.admit(ca, qp)) {
    case ReadWindow::Admission::kGranted:
      return Turn::kMore;
    case ReadWindow::Admission::kNotYet:
      return Turn::kAfterOther;
    case ReadWindow::Admission::kNoRoom:
      break;
  }
  return Turn::kIdle;
}

/// Whether the packet after one of `bytes` will have to wait for pacing. The peer must then
/// acknowledge this one, or the timers would take the silence for a loss.
bool pauses_after(const QueuePair& qp, uint32_t bytes, Instant now) {
  return qp.pacer.is_limited() && !qp.pacer.admits(bytes + qp.mtu, now);
}

/// Updates PSNs, counts and timers after a packet was sent.
void note_sent(ChannelAdapter& ca, QueuePair& qp, const SendWqe& wqe, const RequestPacket& packet,
               Instant now) {
  RequesterState& req = qp.requester;
  const Psn psn = packet.headers.bth.psn;
  const bool first_time = psn == req.next_psn;
  const bool ack_req = packet.headers.bth.ack_req;
  req.send_psn = psn + packet.psns;
  if (first_time || req.send_psn.is_after(req.next_psn)) {
    req.next_psn = req.send_psn;
  } else {
    ++ca.counters.retransmitted_packets;
    ++qp.counters.retransmitted_packets;
  }
  if (has_response(wqe)) ++req.rd_atomic_in_flight;
  req.since_ack_request = ack_req ? 0 : req.since_ack_request + 1;
  if (first_time && ack_req && !req.sample_sent && req.repairs_used == 0) {
    req.sample_sent = now;
    req.sample_is_doubtful = false;
    req.sample_end.reset();
    req.sample_psn = psn;
  }
  if (req.send_psn == wqe.last_psn() + 1) ++req.send_position;
  start_retry_timers(ca, qp, now);
}

void count_request(ChannelAdapter& ca, QueuePair& qp, const RequestPacket& packet) {
  const size_t bytes = packet_size(packet.headers.bth.opcode, packet.payload);
  ++ca.counters.sent_packets;
  ca.counters.sent_bytes += bytes;
  qp.counters.count_sent(bytes);
}

/// A message that cannot be carried out completes after all messages before it.
Turn hold_failed_message(ChannelAdapter& ca, QueuePair& qp, uint32_t position) {
  if (position == qp.sq.oldest()) fail_oldest_send(ca, qp, qp.sq.at(position).local_status);
  return Turn::kIdle;
}

Turn send_one(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now) {
  const uint32_t position = qp.requester.send_position;
  SendWqe& wqe = qp.sq.at(position);
  if (wqe.failed_locally) return hold_failed_message(ca, qp, position);
  if (is_local(wqe)) {
    ++qp.requester.send_position;
    complete_local_operations(ca, qp);
    return Turn::kMore;
  }
  if (const Turn turn = admit(ca, qp, wqe, now); turn != Turn::kMore) return turn;
  RequestPacket packet = request_packet_at(qp, wqe, qp.requester.send_psn);
  const uint32_t bytes = datagram_bytes(qp.flow(), packet.headers.bth.opcode, packet.payload);
  if (!pacing_admits(ca, qp, bytes, now)) return Turn::kIdle;
  packet.headers.bth.ack_req = wants_ack(qp, wqe, packet, pauses_after(qp, bytes, now));
  const size_t datagrams = batch.messages().size();
  // A packet with a wrong ICRC costs a retry.
  const bool can_retry = qp.attr.retry_cnt > 0;
  const bool first_time = packet.headers.bth.psn == qp.requester.next_psn;
  switch (append_request(ca, qp, position, packet, first_time && can_retry, batch)) {
    case Appended::kYes:
      break;
    case Appended::kBatchFull:
      return Turn::kBatchFull;
    case Appended::kRefused:
      wqe.failed_locally = true;
      wqe.local_status = IBV_WC_LOC_PROT_ERR;
      return hold_failed_message(ca, qp, position);
  }
  count_request(ca, qp, packet);
  take_room(ca, qp, wqe, packet, batch.messages().size() == datagrams);
  if (qp.pacer.is_limited()) qp.pacer.charge(bytes, now);
  note_sent(ca, qp, wqe, packet, now);
  return Turn::kMore;
}

/// Whether the next element may begin (fence; SQD begins nothing new).
bool may_start(const QueuePair& qp, const SendWqe& wqe) {
  if (qp.state() == IBV_QPS_SQD) return false;
  return (wqe.send_flags & IBV_SEND_FENCE) == 0 || qp.requester.rd_atomic_in_flight == 0;
}

Turn send_requests(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now,
                   uint32_t budget) {
  RequesterState& req = qp.requester;
  const ibv_qp_state state = qp.state();
  if ((state != IBV_QPS_RTS && state != IBV_QPS_SQD) || req.rnr_until) return Turn::kIdle;
  if (req.probe_due != RequesterState::Probe::kNone) {
    if (const Turn turn = send_probe(ca, qp, batch, now); turn != Turn::kMore) return turn;
  }
  if (req.repairs_due > 0 || req.query_due) {
    if (const Turn turn = send_repairs(ca, qp, batch, now); turn != Turn::kMore) return turn;
  }
  for (uint32_t sent = 0; sent < budget; ++sent) {
    if (req.send_position == qp.sq.posted()) return Turn::kIdle;
    if (req.send_position == req.assign_position) {
      if (!may_start(qp, qp.sq.at(req.send_position))) return Turn::kIdle;
      start_message(ca, qp, req.send_position);
    }
    if (const Turn turn = send_one(ca, qp, batch, now); turn != Turn::kMore) return turn;
  }
  return Turn::kMore;
}

}  // namespace

bool is_idle(const ChannelAdapter& ca, const QueuePair& qp) {
  const RequesterState& req = qp.requester;
  const bool owes_nothing = req.probe_due == RequesterState::Probe::kNone && req.repairs_due == 0 &&
                            !req.query_due && req.turn_left == 0;
  return owes_nothing && has_sent_all(qp) && qp.path != nullptr && !qp.path->somebody_waits() &&
         !ca.reads.somebody_waits();
}

bool leaves_ack_behind(QueuePair& qp, size_t segments) {
  const uint32_t position = qp.requester.send_position;
  if (qp.sq.posted() - position != 1) return false;
  const SendWqe& last = qp.sq.at(position);
  return !is_local(last) && !shares_datagram_with_ack(qp, last, segments);
}

bool beyond_credits(const RequesterState& req, const SendWqe& wqe) {
  return req.limit_ssn && needs_receive(wqe) && wqe.ssn.is_after(*req.limit_ssn);
}

void start_message(ChannelAdapter& ca, QueuePair& qp, uint32_t position) {
  SendWqe& wqe = qp.sq.at(position);
  RequesterState& req = qp.requester;
  req.assign_position = position + 1;
  if (is_local(wqe)) {
    wqe.failed_locally = !execute_local(ca, qp, wqe);
    wqe.local_status = IBV_WC_MW_BIND_ERR;
    return;
  }
  wqe.local_status = check_locally(ca, qp, position);
  wqe.failed_locally = wqe.local_status != IBV_WC_SUCCESS;
  wqe.first_psn = req.next_psn;
  wqe.packets = message_packets(qp, wqe);
  const uint32_t messages = is_read(wqe) ? (wqe.packets + qp.read_piece - 1) / qp.read_piece : 1;
  wqe.ssn = req.ssn + 1;
  req.ssn = req.ssn + messages;
}

void look_at_credits_again(ChannelAdapter& ca, QueuePair& qp) {
  if (qp.requester.credits_due) ca.active.push_back(qp);
}

void go_back(ChannelAdapter& ca, QueuePair& qp) {
  RequesterState& req = qp.requester;
  give_back_all(ca, qp);
  end_repair(req);
  forget_kept(req);
  req.went_back_for_nak = false;
  req.send_psn = req.oldest_unacked;
  req.ack_deadline.reset();
  req.probe_deadline.reset();
  req.probe_due = RequesterState::Probe::kNone;
  req.send_position = qp.sq.oldest();
  req.rd_atomic_in_flight = 0;
  req.since_ack_request = 0;
  req.sample_sent.reset();
  req.doubtful_sample.reset();
  ca.active.push_back(qp);
  qp.path->wake_next(ca);
}

Turn transmit_requests(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now,
                       uint32_t budget) {
  if (is_idle(ca, qp)) return Turn::kIdle;
  const Turn turn = send_requests(ca, qp, batch, now, budget);
  if (turn == Turn::kAfterOther) return turn;
  RequesterState& req = qp.requester;
  if (turn == Turn::kIdle) {
    req.turn_left = 0;
    ca.reads.end_turn(ca, qp);
  }
  if (turn == Turn::kBatchFull || req.turn_left != 0 || qp.path == nullptr) return turn;
  if (qp.path->end_turn(ca, qp)) return Turn::kMore;
  return turn;
}

void reset_requester(QueuePair& qp) {
  qp.requester = RequesterState{};
  skip_completed_sends(qp);
}

void set_first_psn(QueuePair& qp, Psn psn) {
  qp.requester.oldest_unacked = qp.requester.send_psn = qp.requester.next_psn = psn;
}

void stop_requester(ChannelAdapter& ca, QueuePair& qp) {
  RequesterState& req = qp.requester;
  give_back_all(ca, qp);
  ca.reads.leave_line(ca, qp);
  end_repair(req);
  forget_kept(req);
  req.send_psn = req.next_psn = req.oldest_unacked;
  req.rd_atomic_in_flight = 0;
  req.rnr_until.reset();
  req.ack_deadline.reset();
  req.probe_deadline.reset();
  req.credits_due.reset();
  req.sample_sent.reset();
  req.probe_due = RequesterState::Probe::kNone;
  req.turn_left = 0;
  ca.timers.remove(qp);
  ca.pacing.remove(qp);
  static_cast<ListHook<WaitingTag>&>(qp).unlink();  // or from the line at a receiver (UC, UD)
  if (qp.path == nullptr) return;
  qp.path->leave_line(ca, qp);
  qp.path->wake_next(ca);
}

void skip_completed_sends(QueuePair& qp) {
  qp.requester.send_position = qp.requester.assign_position = qp.sq.oldest();
}

}  // namespace urxe
