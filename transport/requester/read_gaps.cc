// SPDX-License-Identifier: BSD-2-Clause
#include "transport/requester/read_gaps.h"

#include <algorithm>

#include "transport/memory/sge_copy.h"
#include "transport/requester/acknowledge.h"
#include "transport/requester/note_answer.h"
#include "transport/requester/repair.h"
#include "transport/requester/request_packet.h"
#include "transport/requester/requester.h"
#include "transport/requester/retry.h"

namespace urxe {
namespace {

bool is_kept(const RequesterState& req, Psn psn) {
  const int32_t ahead = psn.distance_from(req.oldest_unacked);
  return ahead >= 0 && ahead < static_cast<int32_t>(KeptResponses::kWindow) && req.kept.has(psn);
}

bool can_repair(const QueuePair& qp) {
  return qp.path->keeps_what_follows() && !qp.requester.resending;
}

/// Puts the response in place. False: it cannot be, or is not the response to a READ.
bool keep(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet) {
  const Psn psn = packet.headers.bth.psn;
  const uint32_t position = position_of(qp, psn);
  const SendWqe& wqe = qp.sq.at(position);
  const bool is_atomic_answer =
      packet.headers.bth.opcode.operation() == Operation::kAtomicAcknowledge;
  if (!is_read(wqe) || is_atomic_answer || wqe.failed_locally) return false;
  const uint64_t offset = static_cast<uint64_t>(packet_index(wqe, psn)) * qp.mtu;
  if (packet.payload.size() != std::min<uint64_t>(qp.mtu, wqe.length - offset)) return false;
  if (!scatter(ca.memory, qp.pd, qp.sq.sges(position), offset, packet.payload)) return false;
  qp.requester.kept.add(psn);
  ++ca.counters.held_responses;
  return true;
}

/// Whether data of a READ before `wqe` is missing, or the result of an atomic. The data will be
/// read anew, later than what comes now; but a READ must not return older data than one before it
/// (10.8.3.3, table 79). The result may be for the same memory as what comes now, which must stay.
bool is_behind_missing_result(QueuePair& qp, const SendWqe& wqe) {
  Psn from = qp.requester.oldest_unacked;
  while (const auto missing = find_missing(qp, from, wqe.first_psn)) {
    const SendWqe& earlier = qp.sq.at(missing->position);
    if ((is_read(earlier) && earlier.length > 0) || is_atomic(earlier)) return true;
    from = missing->from + missing->packets;
  }
  return false;
}

/// What is missing in [from, end) is requested again.
void repair_missing(ChannelAdapter& ca, QueuePair& qp, Psn from, Psn end, Instant now) {
  uint32_t lost = 0;
  std::optional<Psn> first;
  while (const auto missing = find_missing(qp, from, end)) {
    if (!first) first = missing->from;
    lost += missing->packets;
    from = missing->from + missing->packets;
  }
  if (!first) return;
  ++ca.counters.implied_naks;
  qp.path->note_loss(now);
  for (uint32_t i = 0; i < lost; ++i) {
    if (qp.path->on_single_loss(qp.mtu, now)) ++ca.counters.congestion_backoffs;
  }
  owe_responses(ca, qp, *first, static_cast<uint32_t>(end.distance_from(*first)));
  note_missing_response(ca, qp);
}

/// An answer for the packet before `answered_to` has come; that of packets from `end` on was not
/// missing. `is_new`: it was kept. One that comes again and again restores no retries.
void note_ahead(ChannelAdapter& ca, QueuePair& qp, Psn end, Psn answered_to, bool is_new,
                Instant now) {
  RequesterState& req = qp.requester;
  const Psn from = knows_gap(req) ? *req.kept.answered_to : req.oldest_unacked;
  if (end.is_after(from)) repair_missing(ca, qp, from, end, now);
  if (answered_to.is_after(from)) req.kept.answered_to = answered_to;
  if (is_new || answered_to.is_after(from)) note_sign_of_life(ca, qp, now);
  repair_oldest_gap(ca, qp);
  repeat_lost_repairs(ca, qp, now);
}

}  // namespace

bool take_response_ahead(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, Instant now) {
  const RequesterState& req = qp.requester;
  if (!can_repair(qp)) {
    if (!req.resending) ask_for_reports(ca, qp);
    return false;
  }
  const Psn psn = packet.headers.bth.psn;
  // It will be requested again; or it has come before; or there is no room for it.
  if (!psn.is_before(req.send_psn) || is_kept(req, psn) ||
      psn.distance_from(req.oldest_unacked) >= static_cast<int32_t>(KeptResponses::kWindow)) {
    ca.counters.drop(DropReason::kUnexpectedPsn);
    return true;
  }
  const SendWqe& wqe = qp.sq.at(position_of(qp, psn));
  if (is_read(wqe) && is_behind_missing_result(qp, wqe)) {
    ca.counters.drop(DropReason::kUnexpectedPsn);
    note_ahead(ca, qp, wqe.first_psn, psn + 1, true, now);
    // With all that follows, whose responses will be dropped, too. The responder sends them behind
    // what is missing.
    if (!is_repaired(qp.requester, psn)) {
      owe_responses(ca, qp, wqe.first_psn,
                    static_cast<uint32_t>(req.send_psn.distance_from(wqe.first_psn)));
    }
    return true;
  }
  if (!keep(ca, qp, packet)) return false;
  note_ahead(ca, qp, psn, psn + 1, true, now);
  return true;
}

bool take_ack_ahead(ChannelAdapter& ca, QueuePair& qp, Psn psn, Instant now) {
  if (!can_repair(qp) || !psn.is_before(qp.requester.send_psn)) return false;
  note_ahead(ca, qp, psn + 1, psn + 1, false, now);
  return true;
}

void advance_over_kept(ChannelAdapter& ca, QueuePair& qp) {
  RequesterState& req = qp.requester;
  while (knows_gap(req)) {
    const SendWqe& wqe = qp.sq.at(qp.sq.oldest());
    if (is_kept(req, req.oldest_unacked)) {
      advance_oldest(ca, qp, 1);
    } else if (has_response(wqe)) {
      return;
    } else {
      acknowledge(ca, qp,
                  static_cast<uint32_t>(req.kept.answered_to->distance_from(req.oldest_unacked)));
    }
  }
  req.kept.answered_to.reset();
}

void repair_oldest_gap(ChannelAdapter& ca, QueuePair& qp) {
  RequesterState& req = qp.requester;
  if (!knows_gap(req) || is_repaired(req, req.oldest_unacked)) return;
  const Psn end = *req.kept.answered_to;
  const auto missing = find_missing(qp, req.oldest_unacked, end);
  if (!missing) return;
  // With what is missing behind it: READs that were dropped because of an earlier one.
  Psn to = missing->from + missing->packets;
  for (auto next = find_missing(qp, to, end); next && !is_repaired(req, next->from);
       next = find_missing(qp, to, end)) {
    to = next->from + next->packets;
  }
  owe_responses(ca, qp, missing->from, static_cast<uint32_t>(to.distance_from(missing->from)));
}

bool knows_gap(const RequesterState& requester) {
  const std::optional<Psn>& to = requester.kept.answered_to;
  return to && to->is_after(requester.oldest_unacked);
}

std::optional<MissingResponses> find_missing(QueuePair& qp, Psn from, Psn end) {
  const RequesterState& req = qp.requester;
  while (from.is_before(end) && from.is_before(req.send_psn)) {
    const uint32_t position = position_of(qp, from);
    const SendWqe& wqe = qp.sq.at(position);
    if (!has_response(wqe)) {
      from = wqe.last_psn() + 1;
    } else if (is_kept(req, from)) {
      from = from + 1;
    } else {
      uint32_t packets = 1;
      for (Psn next = from + 1; next.is_before(end) && !next.is_after(wqe.last_psn()) &&
                                !is_kept(req, next) && next.is_before(req.send_psn);
           next = next + 1) {
        ++packets;
      }
      return MissingResponses{from, packets, position};
    }
  }
  return std::nullopt;
}

void forget_kept(RequesterState& requester) {
  if (requester.kept.answered_to) requester.kept = KeptResponses{};
}

}  // namespace urxe
