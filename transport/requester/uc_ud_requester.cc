// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/uc_ud_requester.h"

#include "transport/queue_pair/qp_error.h"
#include "transport/requester/completer.h"
#include "transport/requester/request_packet.h"

namespace urxe {
namespace {

constexpr uint32_t kOwnQKey = 0x80000000;

/// Nothing is ever outstanding: the three PSNs stay equal.
void take_psn(RequesterState& req) {
  req.oldest_unacked = req.send_psn = req.next_psn = req.next_psn + 1;
}

/// Asks pacing and backpressure. kMore: a packet of `bytes`, with IP and UDP headers, may go now.
Turn admit(ChannelAdapter& ca, QueuePair& qp, const Flow& flow, Qpn to, uint32_t bytes,
           TxBatch& batch, Instant now) {
  if (!pacing_admits(ca, qp, bytes, now)) return Turn::kIdle;
  switch (ca.backpressure.admit(ca, qp, flow, to, batch, now)) {
    case Backpressure::Admission::kWait:
      return Turn::kIdle;
    case Backpressure::Admission::kBatchFull:
      return Turn::kBatchFull;
    default:
      return Turn::kMore;
  }
}

void note_sent(ChannelAdapter& ca, QueuePair& qp, const Flow& flow, const Headers& headers,
               uint32_t payload, TxBatch& batch, Instant now) {
  const size_t bytes = packet_size(headers.bth.opcode, payload);
  ++ca.counters.sent_packets;
  ca.counters.sent_bytes += bytes;
  qp.counters.count_sent(bytes);
  take_psn(qp.requester);
  if (qp.pacer.is_limited()) {
    qp.pacer.charge(datagram_bytes(flow, headers.bth.opcode, payload), now);
  }
  ca.backpressure.note_sent(ca, qp, flow, headers.bth.dest_qp, bytes, batch);
}

Turn send_uc_packet(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now) {
  RequesterState& req = qp.requester;
  const uint32_t position = req.send_position;
  const SendWqe& wqe = qp.sq.at(position);
  if (position == req.assign_position) start_message(ca, qp, position);
  if (wqe.failed_locally) return fail_turn(ca, qp, wqe.local_status);
  if (is_local(wqe)) {
    ++req.send_position;
    complete_local_operations(ca, qp);
    return Turn::kMore;
  }
  const RequestPacket packet = request_packet_at(qp, wqe, qp.requester.send_psn);
  const uint32_t bytes = datagram_bytes(qp.flow(), packet.headers.bth.opcode, packet.payload);
  if (const Turn turn = admit(ca, qp, qp.flow(), qp.dest_qpn, bytes, batch, now);
      turn != Turn::kMore) {
    return turn;
  }
  // A message completes as its last packet is appended, before the batch is sent. Then the
  // application may change its data.
  const bool ends_later = wqe.length - packet.offset > batch.room();
  switch (append_request(ca, qp, position, packet, ends_later, batch)) {
    case Appended::kYes:
      break;
    case Appended::kBatchFull:
      return Turn::kBatchFull;
    case Appended::kRefused:
      return fail_turn(ca, qp, IBV_WC_LOC_PROT_ERR);
  }
  note_sent(ca, qp, qp.flow(), packet.headers, packet.payload, batch, now);
  if (packet.headers.bth.psn == wqe.last_psn()) {
    ++req.send_position;
    complete_oldest_send(ca, qp);
  }
  return Turn::kMore;
}

Headers datagram_headers(const QueuePair& qp, const SendWqe& wqe) {
  const bool immediate = wqe.opcode == IBV_WR_SEND_WITH_IMM;
  const bool own_qkey = (wqe.datagram.qkey.value() & kOwnQKey) != 0;
  Headers headers;
  headers.bth.opcode =
      Opcode(qp.service, immediate ? Operation::kSendOnlyImm : Operation::kSendOnly);
  headers.bth.solicited = (wqe.send_flags & IBV_SEND_SOLICITED) != 0;
  headers.bth.dest_qp = wqe.datagram.qpn;
  headers.bth.pkey = qp.pkey;
  headers.bth.psn = qp.requester.next_psn;
  // 10.2.5: a work request cannot choose a controlled Q_Key.
  headers.deth = {own_qkey ? QKey(qp.attr.qkey) : wqe.datagram.qkey, qp.qpn};
  headers.immediate_be = wqe.immediate_be;
  return headers;
}

/// A datagram is one packet. A longer one completes in error, as with adapters. (C10-93.1.1 would
/// have it vanish without an error.)
Turn send_ud_packet(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now) {
  RequesterState& req = qp.requester;
  const uint32_t position = req.send_position;
  const SendWqe& wqe = qp.sq.at(position);
  if (wqe.length > 128U << ca.config.active_mtu) return fail_turn(ca, qp, IBV_WC_LOC_LEN_ERR);
  const Datagram& to = wqe.datagram;
  const Headers headers = datagram_headers(qp, wqe);
  const uint32_t bytes = datagram_bytes(to.flow, headers.bth.opcode, wqe.length);
  if (const Turn turn = admit(ca, qp, to.flow, to.qpn, bytes, batch, now); turn != Turn::kMore) {
    return turn;
  }
  uint8_t* out = batch.append(to.flow, headers, wqe.length);
  if (out == nullptr) return Turn::kBatchFull;
  if (!gather_all(ca, qp, position, out)) {
    batch.abandon();
    return fail_turn(ca, qp, IBV_WC_LOC_PROT_ERR);
  }
  batch.commit();
  note_sent(ca, qp, to.flow, headers, wqe.length, batch, now);
  if (to.flow.destination.is_multicast()) ++ca.counters.multicast_packets_sent;
  req.assign_position = ++req.send_position;
  complete_oldest_send(ca, qp);
  return Turn::kMore;
}

/// SQD finishes the message that has begun and starts nothing new.
bool may_send(const QueuePair& qp) {
  const RequesterState& req = qp.requester;
  if (qp.state() == IBV_QPS_SQD) return req.send_position != req.assign_position;
  return qp.state() == IBV_QPS_RTS;
}

}  // namespace

Turn transmit_uc_ud_requests(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now,
                             uint32_t budget) {
  const bool datagrams = qp.service == Service::kUd;
  for (uint32_t sent = 0; sent < budget; ++sent) {
    if (!may_send(qp) || qp.requester.send_position == qp.sq.posted()) {
      report_drained(ca, qp);
      return Turn::kIdle;
    }
    const Turn turn =
        datagrams ? send_ud_packet(ca, qp, batch, now) : send_uc_packet(ca, qp, batch, now);
    if (turn != Turn::kMore) return turn;
  }
  return Turn::kMore;
}

}  // namespace urxe
