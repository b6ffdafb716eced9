// SPDX-License-Identifier: BSD-2-Clause
// Requests that come behind a gap (9.7.4.1.1), and what the requester is told of gaps.
#include "transport/responder/note_refusal.h"
#include "transport/responder/responder.h"

namespace urxe {
namespace {

using Kept = HeldRequests::Kept;

/// Packets are missing between `from` and `packet`. What cannot be reported now is found out later,
/// by a NAK.
void owe_gap_report(ChannelAdapter& ca, QueuePair& qp, Psn from, const PacketView& packet) {
  ResponderState& resp = qp.responder;
  if (!resp.reports_gaps || resp.gaps_due == resp.gaps.size()) return;
  const auto packets = static_cast<uint32_t>(packet.headers.bth.psn.distance_from(from));
  resp.gaps[resp.gaps_due++] = {from, packets};
  ca.active.push_back(qp);
}

}  // namespace

void owe_sequence_nak(ChannelAdapter& ca, QueuePair& qp) {
  ++ca.counters.out_of_sequence_requests;
  note_gap(ca, qp);
  owe_nak(ca, qp, qp.responder.expected_psn, nak_syndrome(NakCode::kPsnSequenceError));
}

Kept keep_ahead(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, uint16_t port,
                int32_t ahead) {
  // A stranger who guesses a PSN must not have a request executed in the place of the peer's.
  const bool has_use =
      ca.config.keeps_requests && !qp.responder.rnr_nak_outstanding && qp.peer_ports.trusts(port);
  const Kept kept = has_use ? ca.held.keep(qp, packet, ahead) : Kept::kNot;
  if (kept == Kept::kNow) ++ca.counters.held_requests;
  return kept;
}

void receive_ahead(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, uint16_t port,
                   int32_t ahead) {
  ResponderState& resp = qp.responder;
  const std::optional<Psn> end = ca.held.end(qp);
  const Kept kept = keep_ahead(ca, qp, packet, port, ahead);
  if (kept == Kept::kNow) {
    if (end && packet.headers.bth.psn.is_after(*end)) owe_gap_report(ca, qp, *end, packet);
  } else {
    ca.counters.drop(DropReason::kOutOfSequence);
  }
  // One NAK is all that a requester may expect (9.7.5.1.1). But one that sends its newest packet
  // again, and asks, has not seen it.
  const bool asks_again = kept == Kept::kLastAlready && packet.headers.bth.ack_req;
  if (!resp.nak_outstanding || asks_again) owe_sequence_nak(ca, qp);
}

void note_behind_held(ResponderState& resp, Psn psn) {
  std::optional<Psn>& newest = resp.newest_behind_held;
  if (!newest || psn.is_after(*newest)) newest = psn;
}

void receive_behind_held(ChannelAdapter& ca, QueuePair& qp, const PacketView& packet, uint16_t port,
                         int32_t ahead) {
  if (ahead > 0) {
    note_behind_held(qp.responder, packet.headers.bth.psn);
    if (keep_ahead(ca, qp, packet, port, ahead) != HeldRequests::Kept::kNot) return;
  }
  ca.counters.drop(DropReason::kOutOfSequence);
}

void receive_gap_query(ChannelAdapter& ca, QueuePair& qp, Psn number) {
  if (!ca.config.keeps_requests) return;
  ResponderState& resp = qp.responder;
  resp.reports_gaps = true;
  resp.gap_query = number;
  resp.gaps_due = ca.held.find_gaps(qp, resp.expected_psn, resp.gaps);
  if (resp.gaps_due == 0) resp.gaps[resp.gaps_due++] = {resp.expected_psn, 0};
  ca.active.push_back(qp);
}

}  // namespace urxe
