// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/repair.h"

#include <algorithm>
#include <utility>

#include "packet/base/bytes.h"
#include "transport/queue_pair/qp_error.h"
#include "transport/requester/probe.h"
#include "transport/requester/read_gaps.h"
#include "transport/requester/request_packet.h"
#include "transport/requester/requester.h"
#include "transport/requester/retry.h"

namespace urxe {
namespace {

/// If more packets than this are missing in a row, the peer has not kept them.
constexpr uint32_t kMostSpan = 16;
/// How often the oldest packet is sent again because nothing is heard.
constexpr uint32_t kMostSilentRepairs = 4;
/// How often a peer that has not sent any report is asked for them.
constexpr uint32_t kMostQueries = 8;
/// How often the same repair is repeated because of reports, or because other answers come. A peer
/// that drops such a request, as it does when the memory is gone, is left to the timers.
constexpr uint32_t kMostRepeats = 16;
/// As long as none was measured.
constexpr Duration kLeastRoundTrip = microseconds(50);

bool contains(const Repair& repair, Psn psn) {
  return ((psn.value() - repair.from.value()) & Psn::kMask) < repair.packets;
}

Repair* find_repair(RequesterState& req, Psn psn) {
  const auto at = std::ranges::find_if(req.repairs, [psn](auto& r) { return contains(r, psn); });
  return at == req.repairs.end() ? nullptr : &*at;
}

/// A place for a new repair: a free one, or that of the repair that was sent first.
Repair* place_for_repair(RequesterState& req) {
  Repair* best = nullptr;
  for (Repair& repair : req.repairs) {
    if (repair.packets == 0) return &repair;
    if (!repair.is_due && (best == nullptr || repair.sent < best->sent)) best = &repair;
  }
  return best;
}

/// `packets` from `from` on are to be sent again, or their responses to be requested.
void owe_repair(ChannelAdapter& ca, QueuePair& qp, Psn from, uint32_t packets,
                bool of_responses = false) {
  RequesterState& req = qp.requester;
  Repair* repair = find_repair(req, from);
  const bool is_repeated =
      repair != nullptr && repair->from == from && repair->of_responses == of_responses;
  const uint32_t repeats = is_repeated ? std::min(repair->repeats + 1U, kMostRepeats) : 0;
  if (repair == nullptr) repair = place_for_repair(req);
  if (repair == nullptr) return;
  if (repair->packets == 0) ++req.repairs_used;
  if (repair->packets == 0 || !repair->is_due) ++req.repairs_due;
  const auto most = std::min<uint32_t>(packets, UINT16_MAX);
  *repair = Repair{.from = from,
                   .packets = static_cast<uint16_t>(most),
                   .is_due = true,
                   .repeats = static_cast<uint8_t>(repeats),
                   .of_responses = of_responses};
  req.doubtful_sample.reset();
  req.sample_sent.reset();  // the answer will be late because of the gap
  ++ca.counters.repairs;
  ca.active.push_back(qp);
}

/// Requests responses again that were requested again before, if they should have come by now.
template <class Predicate>
void repeat_responses_if(ChannelAdapter& ca, QueuePair& qp, Predicate should_have_come) {
  for (const Repair& repair : qp.requester.repairs) {
    const bool was_sent = repair.packets != 0 && repair.of_responses && !repair.is_due;
    if (was_sent && repair.repeats < kMostRepeats && should_have_come(repair)) {
      owe_repair(ca, qp, repair.from, repair.packets, true);
    }
  }
}

/// Asks what is still missing, of all that was sent before.
bool send_query(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now) {
  RequesterState& req = qp.requester;
  if (!req.peer_reports_gaps && req.gap_query >= kMostQueries) {
    req.query_due = false;
    return true;
  }
  Headers headers;
  headers.bth.opcode = kGapQueryOpcode;
  headers.bth.dest_qp = qp.dest_qpn;
  headers.bth.pkey = qp.pkey;
  headers.bth.psn = Psn(req.gap_query + 1);
  if (batch.append(qp.flow(), headers, 0) == nullptr) return false;
  batch.commit();
  req.query_due = false;
  req.gap_query = headers.bth.psn.value();
  req.gap_query_end = req.send_psn;
  req.gap_query_sent = now;
  const size_t bytes = packet_size(kGapQueryOpcode, 0);
  ++ca.counters.sent_packets;
  ca.counters.sent_bytes += bytes;
  qp.counters.count_sent(bytes);
  return true;
}

/// Requests the next run of responses that the repair lacks.
Again request_missing(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now,
                      const Repair& repair) {
  const Psn psn = repair.from + repair.done;
  const auto missing = find_missing(qp, psn, repair.from + repair.packets);
  if (!missing) return {Turn::kMore, repair.packets};
  Again again =
      send_again(ca, qp, batch, now, {missing->position, missing->from, true, missing->packets});
  again.psns += static_cast<uint32_t>(missing->from.distance_from(psn));
  return again;
}

/// Sends what is left of one repair.
Turn send_repair(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now, Repair& repair) {
  RequesterState& req = qp.requester;
  while (repair.done < repair.packets) {
    const Psn psn = repair.from + repair.done;
    if (psn.is_before(req.oldest_unacked)) {
      ++repair.done;
      continue;
    }
    if (!psn.is_before(req.send_psn)) break;
    const bool is_last = repair.done + 1 == repair.packets;
    const Again again = repair.of_responses
                            ? request_missing(ca, qp, batch, now, repair)
                            : send_again(ca, qp, batch, now, {position_of(qp, psn), psn, is_last});
    if (again.turn != Turn::kMore) return again.turn;
    if (psn == req.oldest_unacked) req.awaits_since = now;
    repair.done = static_cast<uint16_t>(std::min<uint32_t>(repair.done + again.psns, UINT16_MAX));
  }
  return Turn::kMore;
}

}  // namespace

void ask_for_reports(ChannelAdapter& ca, QueuePair& qp) {
  if (qp.path->keeps_what_follows()) return;
  qp.requester.query_due = true;
  ca.active.push_back(qp);
}

bool repair_after_nak(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  if (!qp.path->keeps_what_follows() || req.in_flight() == 0) return false;
  const Psn missing = req.oldest_unacked;
  const Repair* before = find_repair(req, missing);
  // A repair that is due, or of which a report will tell, or was sent so lately that the NAK cannot
  // tell of it.
  if (before != nullptr &&
      (before->is_due || req.peer_reports_gaps ||
       now - before->sent < std::max(qp.path->round_trip(), kLeastRoundTrip))) {
    return true;
  }
  const uint32_t span = req.repaired_to == missing ? req.repair_span * 2 : 1;
  if (span > kMostSpan) {
    qp.path->set_keeps_what_follows(false);
    return false;
  }
  req.repair_span = std::min(span, req.in_flight());
  req.repaired_to = missing + req.repair_span;
  req.silent_repairs = 0;
  if (qp.path->on_single_loss(qp.mtu, now)) ++ca.counters.congestion_backoffs;
  owe_repair(ca, qp, missing, req.repair_span);
  return true;
}

void owe_responses(ChannelAdapter& ca, QueuePair& qp, Psn from, uint32_t packets) {
  owe_repair(ca, qp, from, packets, true);
}

bool is_repaired(RequesterState& requester, Psn psn) {
  return find_repair(requester, psn) != nullptr;
}

void repeat_lost_repairs(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  const Duration patience = std::max(qp.path->round_trip_bound(), kLeastRoundTrip);
  repeat_responses_if(ca, qp, [&](const Repair& r) { return now - r.sent > patience; });
}

void receive_gap_report(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, Instant now) {
  RequesterState& req = qp.requester;
  if (packet.payload.size() != kGapReportBytes) return;
  if (!std::exchange(req.peer_reports_gaps, true)) qp.path->set_keeps_what_follows(true);
  uint32_t packets = load_be32(packet.payload.data());
  const uint32_t query = load_be32(packet.payload.data() + 4);
  if (query == req.gap_query && req.gap_query_sent) {
    qp.path->on_round_trip(now - *req.gap_query_sent);
    req.gap_query_sent.reset();
  }
  // The report comes behind all responses that the peer owed when it saw the query.
  if (!req.resending && !Psn(query).is_after(Psn(req.gap_query))) {
    repeat_responses_if(
        ca, qp, [&](const Repair& repair) { return !Psn(repair.query).is_after(Psn(query)); });
  }
  const Psn from = packet.headers.bth.psn;
  const uint32_t offset = (from.value() - req.oldest_unacked.value()) & Psn::kMask;
  // The peer has seen nothing behind `from`, and the query was sent behind all these.
  if (packets == 0 && query == req.gap_query && from.is_before(req.gap_query_end)) {
    packets = static_cast<uint32_t>(req.gap_query_end.distance_from(from));
  }
  if (req.resending || packets == 0 || offset >= req.in_flight()) return;
  if (packets > req.in_flight() - offset || !qp.path->keeps_what_follows()) return;
  const Repair* before = find_repair(req, from);
  // It may have arrived since, unless the responder had seen the query behind it.
  if (before != nullptr && (before->is_due || Psn(before->query).is_after(Psn(query)))) return;
  if (before != nullptr && before->from == from && before->repeats >= kMostRepeats) return;
  qp.path->note_loss(now);
  for (uint32_t i = 0; i < packets; ++i) {
    if (qp.path->on_single_loss(qp.mtu, now)) ++ca.counters.congestion_backoffs;
  }
  owe_repair(ca, qp, from, packets);
}

bool repairs_after_silence(QueuePair& qp) {
  const RequesterState& req = qp.requester;
  if (!qp.path->keeps_what_follows() || req.silences > 0 || req.in_flight() == 0) return false;
  // A READ request would draw responses again that may be on their way, unless later ones have
  // come.
  return req.silent_repairs < kMostSilentRepairs &&
         (knows_gap(req) || !is_read(qp.sq.at(qp.sq.oldest())));
}

void repair_after_silence(ChannelAdapter& ca, QueuePair& qp, Instant now) {
  RequesterState& req = qp.requester;
  ++req.silent_repairs;
  const auto missing =
      knows_gap(req) ? find_missing(qp, req.oldest_unacked, *req.kept.answered_to) : std::nullopt;
  if (missing) {
    owe_responses(ca, qp, missing->from, missing->packets);
  } else {
    owe_repair(ca, qp, req.oldest_unacked, 1);
  }
  start_retry_timers(ca, qp, now);
}

Turn send_repairs(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now) {
  RequesterState& req = qp.requester;
  for (Repair& repair : req.repairs) {
    if (repair.packets == 0 || !repair.is_due) continue;
    const Turn turn = send_repair(ca, qp, batch, now, repair);
    if (turn != Turn::kMore) return turn;
    repair.is_due = false;
    repair.sent = now;
    repair.query = Psn(req.gap_query + 1).value();
    --req.repairs_due;
  }
  return send_query(ca, qp, batch, now) ? Turn::kMore : Turn::kBatchFull;
}

void note_repaired(QueuePair& qp) {
  RequesterState& req = qp.requester;
  req.silent_repairs = 0;
  if (req.repairs_used == 0) return;
  if (req.repaired_to && req.oldest_unacked.is_after(*req.repaired_to)) req.repaired_to.reset();
  for (Repair& repair : req.repairs) {
    const int32_t done = req.oldest_unacked.distance_from(repair.from);
    if (repair.packets == 0 || done < repair.packets) continue;
    if (repair.is_due) --req.repairs_due;
    repair.packets = 0;
    --req.repairs_used;
  }
}

void end_repair(RequesterState& requester) {
  for (Repair& repair : requester.repairs) repair.packets = 0;
  requester.repairs_due = requester.repairs_used = 0;
  requester.repaired_to.reset();
}

}  // namespace urxe
