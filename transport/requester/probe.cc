// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/probe.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "transport/queue_pair/qp_error.h"
#include "transport/requester/request_packet.h"
#include "transport/requester/requester.h"
#include "transport/requester/retry.h"

namespace urxe {
namespace {

using Probe = RequesterState::Probe;

/// The element that the newest packet in flight belongs to; nullopt: it can no longer be sent.
std::optional<uint32_t> newest_position(QueuePair& qp) {
  const RequesterState& req = qp.requester;
  for (uint32_t position = req.send_position;; --position) {
    const SendWqe& wqe = qp.sq.at(position);
    if (position != req.assign_position && !is_local(wqe) &&
        packet_index(wqe, req.send_psn - 1) < wqe.packets) {
      return wqe.failed_locally ? std::nullopt : std::optional(position);
    }
    if (position == qp.sq.oldest()) return std::nullopt;
  }
}

/// Shortens a READ request to its first `responses`.
void ask_for(const QueuePair& qp, const SendWqe& wqe, RequestPacket& packet, uint32_t responses) {
  if (responses >= packet.psns) return;
  packet.psns = responses;
  packet.headers.reth.dma_length = static_cast<uint32_t>(
      std::min<uint64_t>(uint64_t{responses} * qp.mtu, wqe.length - packet.offset));
}

/// A READ is asked for from its first missing response on. If responses have come, the request has
/// arrived, and the next response is enough to tell that the peer is there. If none has, the
/// request may be lost; it must then arrive as it was, since a responder counts requests (MSN).
void shorten_read(const QueuePair& qp, const SendWqe& wqe, RequestPacket& packet) {
  const uint32_t index = packet_index(wqe, packet.headers.bth.psn);
  if (index % qp.read_piece == 0) return;
  ask_for(qp, wqe, packet, 1);
}

}  // namespace

bool newest_can_ask(QueuePair& qp) {
  const auto position = newest_position(qp);
  return position && !is_read(qp.sq.at(*position));
}

void owe_probe(ChannelAdapter& ca, QueuePair& qp) {
  RequesterState& req = qp.requester;
  // Once: a responder that has said what it waits for does not answer it.
  const bool newest = req.last_probe == Probe::kNone && newest_can_ask(qp);
  req.probe_due = newest ? Probe::kNewest : Probe::kOldest;
  ca.active.push_back(qp);
}

void note_answered_probe(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  const Probe answered = std::exchange(req.last_probe, Probe::kNone);
  if (answered == Probe::kOldest) {
    req.lone_answers = req.oldest_unacked == req.probed + 1 ? req.lone_answers + 1 : 0;
  }
  req.probe_due = Probe::kNone;
  if (req.in_flight() == 0) return;
  req.probe_answered = true;
  // Had the responses been on their way, some would have come before this one.
  const bool was_prompt = now - req.awaits_since < qp.path->round_trip_bound();
  const bool rest_is_lost = qp.path->is_lossy(now) && was_prompt && !newest_can_ask(qp);
  if (answered == Probe::kOldest && rest_is_lost) return ask_for_rest(ca, qp, now);
  // Now that the responder has what it waited for, it says what else is missing.
  if (answered == Probe::kOldest && newest_can_ask(qp)) {
    req.probe_due = Probe::kNewest;
    ca.active.push_back(qp);
  }
}

Again send_again(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now,
                 const SentAgain& what) {
  const SendWqe& wqe = qp.sq.at(what.position);
  RequestPacket packet = request_packet_at(qp, wqe, what.psn);
  if (is_read(wqe) && what.responses > 0) {
    ask_for(qp, wqe, packet, what.responses);
  } else if (is_read(wqe)) {
    shorten_read(qp, wqe, packet);
  }
  packet.headers.bth.ack_req = what.ack_req;
  const uint32_t bytes = datagram_bytes(qp.flow(), packet.headers.bth.opcode, packet.payload);
  if (!pacing_admits(ca, qp, bytes, now)) return {Turn::kIdle, 0};
  switch (append_request(ca, qp, what.position, packet, false, batch)) {
    case Appended::kYes:
      break;
    case Appended::kBatchFull:
      return {Turn::kBatchFull, 0};
    case Appended::kRefused:
      if (what.position != qp.sq.oldest()) {
        start_retry_timers(ca, qp, now);
        return {Turn::kMore, packet.psns, true};
      }
      fail_oldest_send(ca, qp, IBV_WC_LOC_PROT_ERR);
      return {Turn::kIdle, 0};
  }
  ++ca.counters.sent_packets;
  ++ca.counters.retransmitted_packets;
  ++qp.counters.retransmitted_packets;
  const size_t size = packet_size(packet.headers.bth.opcode, packet.payload);
  ca.counters.sent_bytes += size;
  qp.counters.count_sent(size);
  if (qp.pacer.is_limited()) qp.pacer.charge(bytes, now);
  start_retry_timers(ca, qp, now);
  return {Turn::kMore, packet.psns};
}

Turn send_probe(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now) {
  RequesterState& req = qp.requester;
  if (req.in_flight() == 0) {  // what was in flight has been answered, or will be sent again
    req.probe_due = Probe::kNone;
    return Turn::kMore;
  }
  const bool newest = req.probe_due == Probe::kNewest && newest_can_ask(qp);
  const uint32_t position = newest ? *newest_position(qp) : qp.sq.oldest();
  const Psn psn = newest ? req.send_psn - 1 : req.oldest_unacked;
  const Again again = send_again(ca, qp, batch, now, {position, psn, true});
  if (again.turn != Turn::kMore) return again.turn;
  if (again.cannot_be_sent) {
    req.probe_due = Probe::kOldest;
    return send_probe(ca, qp, batch, now);
  }
  req.last_probe = newest ? Probe::kNewest : Probe::kOldest;
  req.probed = psn;
  req.awaits_since = now;
  req.probe_due = Probe::kNone;
  return Turn::kMore;
}

}  // namespace urxe
