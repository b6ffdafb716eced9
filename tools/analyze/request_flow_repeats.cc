// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "tools/analyze/packet_rules.h"
#include "tools/analyze/request_flow.h"

namespace urxe::analyze {
namespace {

/// A longer jump of a requester that goes back is no loss: it begins elsewhere.
constexpr size_t kMostSkipped = 4;
/// So long after a NAK a requester has repeated what it asks for, if it repeats that at all.
constexpr int64_t kNakNs = 20'000'000;

/// So soon the network's copies mostly follow.
constexpr int64_t kCopyWithinNs = 20'000;

}  // namespace

/// Whether the requester, which has sent the packets of the pending fill, goes on with this one. If
/// that was missing, too, both may only be late.
bool RequestFlow::goes_on_behind_fill(LongPsn psn) const {
  const bool follows = psn > fill_->next && psn < expected_;
  return follows && (!fill_->too_early || line_.hole_at(psn) == nullptr);
}

/// Go-back-N repeats also what follows the missing packets; an overtaken packet comes alone.
void RequestFlow::resolve_fill(bool sent_again) {
  if (sent_again) {
    for (const Lost& lost : fill_->packets) note_lost(lost);
    bool goes_back = true;
    if (nak_ && *nak_ < fill_->next) {
      nak_.reset();
      episode_reason_ = RepeatReason::kSequenceNak;
    } else if (fill_->reported) {
      episode_reason_ = RepeatReason::kSequenceNak;  // a report asks like a NAK
    } else if (cut_answer_ && *cut_answer_ < fill_->next) {
      cut_answer_.reset();
      episode_reason_ = RepeatReason::kUnknown;
    } else if (!episode_next_) {
      episode_reason_ = RepeatReason::kTimeout;
      goes_back = !fill_->too_early;
      if (goes_back) ++counts_.timeouts;
    }
    if (goes_back) {
      goes_back_ = !fill_->reported && (goes_back_ || !episode_next_);
      episode_next_ = fill_->next;
      episode_broken_ = false;
    }
  } else {
    counts_.out_of_order += fill_->packets.size();
    for (const Lost& late : fill_->packets) {
      mark(FlowEvent::kOutOfOrder, late.psn);
      corrupted_.forget(wire_psn(late.psn));
    }
  }
  fill_.reset();
}

/// The packet behind one that seemed to be delivered twice comes again, too: the requester went
/// back a second time, because of a NAK that was on its way when the packet came for the first
/// time, or by itself: for a time-out it is too early.
void RequestFlow::settle_twice(LongPsn next) {
  if (!twice_) return;
  const Twice twice = *twice_;
  twice_.reset();
  // While the requester goes back, that one comes next anyway.
  if (next != twice.next || next >= expected_ || next == episode_next_) return;
  const auto seen =
      twice.was_lost ? FlowEvent::kOutOfOrder : repeat_event(RepeatReason::kDuplicate);
  trace_.take_back(seen, twice.psn);
  if (twice.was_lost) {
    --counts_.out_of_order;
    ++counts_.lost_before;
    trace_.mark(FlowEvent::kLostBefore, twice.mark);
    believed_lost_.insert(twice.psn);
  } else {
    --counts_.repeats.at(static_cast<size_t>(RepeatReason::kDuplicate));
    if (twice.guessed) --counts_.guessed_copies;
  }
  const bool asked = last_nak_ == twice.psn;
  episode_reason_ = asked ? RepeatReason::kSequenceNak : RepeatReason::kProbe;
  if (!asked && !ack_timeout_ns_) ++counts_.guessed_probes;
  ++counts_.repeats.at(static_cast<size_t>(episode_reason_));
  trace_.mark(repeat_event(episode_reason_), twice.mark);
  episode_next_ = next;
  episode_broken_ = false;
}

/// A repeated packet that was sent before others that came by already.
bool RequestFlow::take_overtaken(const CapturedPacket& packet, LongPsn psn) {
  const auto found = line_.find(psn);
  const bool same = found && found->second->identification == identification_of(packet);
  if (same || !is_older(identification_of(packet), newest_identification_).value_or(false)) {
    return false;
  }
  ++counts_.out_of_order;
  mark(FlowEvent::kOutOfOrder, psn);
  if (believed_lost_.erase(psn) != 0) take_back_loss(psn);
  return true;
}

void RequestFlow::take_repeat(const CapturedPacket& packet, LongPsn psn) {
  if (fill_) resolve_fill(true);
  if (take_overtaken(packet, psn)) return;
  const auto found = line_.find(psn);
  PsnRecord* const record = found ? found->second : nullptr;
  const RepeatReason reason = reason_for(packet, psn, record);
  const bool seems_copy = reason == RepeatReason::kDuplicate && !is_copy(packet, psn);
  const bool guessed = seems_copy && is_reliable(packet);
  const bool late = reason == RepeatReason::kDuplicate && was_late(psn, record);
  if (seems_copy) {
    const LongPsn end = found ? found->first + found->second->span : psn + 1;
    twice_ = Twice{psn, end, {now_frame_, now_ns_, psn}, late, guessed};
  }
  passed_over_.erase(psn);
  if (late) {
    believed_lost_.erase(psn);
    take_back_loss(psn);
    ++counts_.out_of_order;
    mark(FlowEvent::kOutOfOrder, psn);
    return;
  }
  corrupted_.forget(packet.view.headers.bth.psn);
  if (guessed) ++counts_.guessed_copies;
  ++counts_.repeats.at(static_cast<size_t>(reason));
  mark(repeat_event(reason), psn);
  if (record != nullptr) renew_record(*record, packet, psn, reason);
  if (reason == RepeatReason::kDuplicate) return;
  if (reason == RepeatReason::kProbe && episode_next_ != psn) return take_probe(packet, psn);
  Message* const message = messages_.find(psn);
  if (message != nullptr) message->sent_again = true;
  if (message != nullptr) ask_again(*message, packet, psn);
  // A READ that goes on in its middle ends where the first one ended.
  const int64_t end = found ? found->first + record->span : psn + 1;
  episode_next_ = std::max(end, psn + 1);
  if (lone_) lone_->next = *episode_next_;
}

void RequestFlow::renew_record(PsnRecord& record, const CapturedPacket& packet, LongPsn psn,
                               RepeatReason reason) {
  const bool copied = reason == RepeatReason::kDuplicate;
  if (!copied && reason != RepeatReason::kProbe) record.sent_ns = packet.time_ns;
  record.time_ns = packet.time_ns;
  record.identification = identification_of(packet);
  record.ack_req = packet.view.headers.bth.ack_req;
  record.lost_behind = record.reported = false;
  record.query = next_query();
  const bool doubtful = copied && record.doubtful;
  record.doubtful = doubtful || line_.has_hole_below(psn) || episode_broken_;
}

/// Whether the network has delivered the newest copy twice.
bool RequestFlow::is_copy(const CapturedPacket& packet, LongPsn psn) {
  const auto found = line_.find(psn);
  return found && identification_of(packet) != 0 &&
         found->second->identification == identification_of(packet);
}

/// Whether a second delivery shows that the packet, which counted as lost, was overtaken. It does
/// not if it is only the repair's copy.
bool RequestFlow::was_late(LongPsn psn, const PsnRecord* record) const {
  if (!believed_lost_.contains(psn)) return false;
  return record == nullptr || now_ns_ - record->time_ns >= kCopyWithinNs;
}

/// Whether this is a packet that the requester, which goes back, has sent earlier than those which
/// came by.
bool RequestFlow::is_passed_over(const CapturedPacket& packet, LongPsn psn,
                                 const PsnRecord& record) const {
  const bool asked_for = (nak_ && *nak_ <= psn) || (rnr_ && rnr_->psn == psn) || record.reported;
  return !asked_for && episode_next_ && psn < *episode_next_ && passed_over_.contains(psn) &&
         is_too_early(packet, record.sent_ns);
}

/// Whether the requester obeys a NAK although a later answer has come by. That is on its way.
bool RequestFlow::crosses_nak(const CapturedPacket& packet, LongPsn psn,
                              const PsnRecord* record) const {
  return record != nullptr && last_nak_ == psn && psn < acknowledged_ &&
         packet.time_ns - nak_ns_ < kNakNs && is_too_early(packet, record->sent_ns);
}

/// What the NAK asked for has come meanwhile, out of order.
void RequestFlow::forget_stale_nak(const CapturedPacket& packet) {
  const bool has_come = nak_ && std::max(*nak_, last_nak_.value_or(*nak_)) < acknowledged_;
  if (has_come && packet.time_ns - nak_ns_ > kNakNs) nak_.reset();
}

RepeatReason RequestFlow::reason_for(const CapturedPacket& packet, LongPsn psn,
                                     const PsnRecord* record) {
  if (!is_reliable(packet)) return RepeatReason::kDuplicate;
  if (is_copy(packet, psn)) return RepeatReason::kDuplicate;
  if (record != nullptr && is_passed_over(packet, psn, *record)) return RepeatReason::kDuplicate;
  // Only what is missing comes then, and passing over the rest is no loss.
  if (record != nullptr && record->reported) {
    if (nak_ == psn) nak_.reset();
    return RepeatReason::kSequenceNak;
  }
  if (record != nullptr && believed_lost_.contains(psn) && was_repair(*record)) {
    return RepeatReason::kSequenceNak;  // a second repair, not the packet that was overtaken
  }
  // What was on its way when the responder asked still comes.
  const bool goes_on = episode_next_ == psn && nak_ != psn;
  const bool probe = !goes_on && record != nullptr && is_newest_alone(packet, psn);
  const bool asked_for =
      !goes_on && !probe && ((nak_ && *nak_ <= psn) || (rnr_ && rnr_->psn == psn));
  if (!asked_for && !probe && episode_next_ && psn >= *episode_next_) {
    note_skipped(*episode_next_, psn);
    episode_next_ = psn;
    if (episode_reason_ == RepeatReason::kProbe && !ack_timeout_ns_) ++counts_.guessed_probes;
    return episode_reason_;
  }
  const int64_t since = record != nullptr ? packet.time_ns - record->time_ns : 0;
  // The requester may have missed a response, which it notices as soon as the next one comes.
  const bool asks_again = record != nullptr && psn < acknowledged_ && since >= kCopyWithinNs &&
                          has_own_answer(message_kind(record->opcode.operation()));
  const bool same = record == nullptr || record->ack_req == packet.view.headers.bth.ack_req;
  const bool copied = since < kCopyGuessNs && same && !asks_again && identification_of(packet) == 0;
  const Message* const message = messages_.find(psn);
  RepeatReason reason = RepeatReason::kTimeout;
  if ((nak_ && *nak_ <= psn && !probe) || (!copied && crosses_nak(packet, psn, record))) {
    reason = RepeatReason::kSequenceNak;
  } else if (rnr_ && rnr_->psn == psn) {
    reason = RepeatReason::kRnrNak;
  } else if (message != nullptr && (message->overtaken || responses_.lacks(psn))) {
    reason = RepeatReason::kImpliedNak;
  } else if (cut_answer_ && *cut_answer_ <= psn) {
    reason = RepeatReason::kUnknown;
  } else if (copied) {
    return RepeatReason::kDuplicate;
  } else if (is_probe(packet, psn, record, probe)) {
    return RepeatReason::kProbe;
  }
  // The newest NAK acknowledges what comes before it.
  const LongPsn asked = last_nak_ && *last_nak_ <= psn ? *last_nak_ : nak_.value_or(psn);
  const LongPsn from = reason == RepeatReason::kSequenceNak ? asked : psn;
  begin_episode(reason, psn, packet);
  note_skipped(from, psn);
  return reason;
}

void RequestFlow::begin_episode(RepeatReason reason, LongPsn psn, const CapturedPacket& packet) {
  episode_reason_ = reason;
  goes_back_ = true;
  episode_broken_ = false;
  cut_answer_.reset();
  if (reason == RepeatReason::kTimeout) {
    ++counts_.timeouts;
    const auto found = line_.find(psn);
    const bool too_early = found && is_too_early(packet, found->second->sent_ns);
    const bool ran_out = is_told_timeout(packet);
    lone_ =
        LoneRepeat{psn + 1, {now_frame_, now_ns_, psn}, psn < acknowledged_, too_early, ran_out};
    if (lone_->answered) ++counts_.answers_lost_after;
    if (ran_out) ++timeouts_in_row_;
    if (ran_out) timer_ns_ = packet.time_ns;
  } else {
    restart_timer(packet.time_ns);
  }
  if (reason == RepeatReason::kRnrNak) {
    counts_.rnr_waits.add(packet.time_ns - rnr_->time_ns);
    rnr_.reset();
  }
  if (reason == RepeatReason::kSequenceNak) nak_.reset();
  if (Message* const message = messages_.find(psn)) message->overtaken = false;
}

/// Packets that should have been repeated, but did not come by: lost once more.
void RequestFlow::note_skipped(LongPsn from, LongPsn to) {
  // What was acknowledged meanwhile is left out.
  from = std::max(from, acknowledged_);
  if (from >= to) return;
  const std::vector<LongPsn> skipped = line_.between(from, to, kMostSkipped);
  if (skipped.size() > kMostSkipped) return;
  for (const LongPsn psn : skipped) {
    note_lost({psn, last_request_ns_, now_ns_});
    passed_over_.insert(psn);
  }
  while (passed_over_.size() > PsnLine::kMaxHoles) passed_over_.erase(passed_over_.begin());
  if (!skipped.empty()) episode_broken_ = true;
}

void RequestFlow::note_lost(const Lost& lost) {
  if (corrupted_.take(wire_psn(lost.psn), lost.from_ns, lost.to_ns)) return;
  ++counts_.lost_before;
  mark(FlowEvent::kLostBefore, lost.psn);
  believed_lost_.insert(lost.psn);
  if (believed_lost_.size() > PsnLine::kMaxHoles) believed_lost_.erase(believed_lost_.begin());
}

void RequestFlow::take_back_loss(LongPsn psn) {
  --counts_.lost_before;
  trace_.take_back(FlowEvent::kLostBefore, psn);
}

}  // namespace urxe::analyze
