// SPDX-License-Identifier: BSD-2-Clause
// Packets that a requester sends again by themselves, because nothing was heard. After a time-out a
// requester sends everything again from the oldest packet on that is not acknowledged.
#include <algorithm>

#include "tools/analyze/request_flow.h"

namespace urxe::analyze {
namespace {

/// A requester that goes back sends sooner than after such a pause, if it may send.
constexpr int64_t kPauseNs = 250'000;

/// soft-RoCE counts the ACK timeout in ticks of the kernel, of up to 10 ms each. It rounds down,
/// and the first tick may be almost over.
constexpr int64_t kTicksNs = 20'000'000;

/// urxe lasts out an ACK timeout two and four times when it is repeated, up to a bound.
constexpr uint32_t kMostDoublings = 2;
constexpr int64_t kLongestDoubledNs = 300'000'000;
/// A capture sees the packets of one timeout not quite at the same distance as the requester.
constexpr int64_t kBlurParts = 64;

/// Whether this is about 4.096 us * 2^n, or a little longer.
bool is_like_timeout(int64_t ns) {
  constexpr int64_t kUnitNs = 4096;
  constexpr int64_t kLateParts = 16;
  int64_t timeout = kUnitNs;
  while (timeout + timeout / kLateParts < ns) timeout *= 2;
  return ns >= timeout - timeout / kBlurParts;
}

}  // namespace

/// Whether a packet that was sent at `sent_ns` comes again too early for a time-out. A
/// requester that counts its packets in identifications is not urxe.
bool RequestFlow::is_too_early(const CapturedPacket& packet, int64_t sent_ns) const {
  const bool counts = identification_of(packet) != 0;
  const int64_t guess = counts ? 0 : kProbeGuessNs;
  const int64_t least = ack_timeout_ns_ ? *ack_timeout_ns_ - (counts ? kTicksNs : 0) : guess;
  return packet.time_ns - sent_ns < least;
}

/// Whether the ACK timeout of the CM exchange is over, so that the requester counts a time-out,
/// whatever it sends again. Not if the requester counts its packets: it is not urxe.
bool RequestFlow::timer_ran_out(const CapturedPacket& packet) const {
  if (!ack_timeout_ns_ || identification_of(packet) != 0) return false;
  const int64_t set = *ack_timeout_ns_;
  const int64_t doubled = set << (sends_probes_ ? std::min(timeouts_in_row_, kMostDoublings) : 0);
  const int64_t lasts = std::max(set, std::min(doubled, kLongestDoubledNs));
  return packet.time_ns - timer_ns_ >= lasts - lasts / kBlurParts;
}

/// An answer has come, or the requester waits for the first one.
void RequestFlow::restart_timer(int64_t time_ns) {
  timer_ns_ = time_ns;
  timeouts_in_row_ = 0;
}

/// If no CM message tells the ACK timeout: whether a packet comes again twice at the same distance,
/// and that can be a timeout. Probes come at distances that double. Then the repeat before was
/// after a time-out, too.
bool RequestFlow::repeats_tell_timeout(LongPsn psn, const PsnRecord* record) {
  if (ack_timeout_ns_ || record == nullptr || record->identification != 0) return false;
  const std::optional<UnaskedRepeat> before = unasked_;
  unasked_ = UnaskedRepeat{{now_frame_, now_ns_, psn}, now_ns_ - record->time_ns};
  if (!before || before->mark.psn != psn || before->mark.time_ns != record->time_ns) return false;
  if (last_response_ns_ >= before->mark.time_ns - before->gap_ns) return false;
  const bool alike = is_like_timeout(unasked_->gap_ns) && is_like_timeout(before->gap_ns) &&
                     unasked_->gap_ns < before->gap_ns * 3 / 2 &&
                     before->gap_ns < unasked_->gap_ns * 3 / 2;
  if (!alike || unasked_->gap_ns < kProbeGuessNs) return false;
  unasked_->is_timeout = true;
  if (before->is_probe) {
    ++counts_.timeouts;
    --counts_.repeats.at(static_cast<size_t>(RepeatReason::kProbe));
    ++counts_.repeats.at(static_cast<size_t>(RepeatReason::kTimeout));
    trace_.take_back(repeat_event(RepeatReason::kProbe), psn);
    trace_.mark(repeat_event(RepeatReason::kTimeout), before->mark);
  }
  return true;
}

/// Whether the newest packet comes although older ones have no answer, and are not sent again.
bool RequestFlow::is_newest_alone(const CapturedPacket& packet, LongPsn psn) const {
  const PsnRecord* const record = line_.beginning_at(psn);
  if (record == nullptr || psn + record->span != expected_) return false;
  if (nak_ && *nak_ < psn) return true;
  if (std::max(acknowledged_, first_) >= psn) return false;
  return !episode_next_ || packet.time_ns - last_request_ns_ >= kPauseNs;
}

/// Whether a READ asks only for the next ones of the missing responses; who goes back asks for all.
bool RequestFlow::is_part_of_read(const CapturedPacket& packet, LongPsn psn) {
  const Message* const message = messages_.find(psn);
  if (message == nullptr || message->kind != MessageKind::kRead || path_mtu_ == 0) return false;
  if (!message->knows_length || !has_kept(packet, Ext::kReth)) return false;
  const auto before = static_cast<uint64_t>(psn - message->first) * path_mtu_;
  return packet.view.headers.reth.dma_length + before < message->announced;
}

/// Whether the only packet in flight comes again too early for a time-out.
bool RequestFlow::is_early(const CapturedPacket& packet, LongPsn psn, const PsnRecord& record) {
  if (psn + record.span < expected_ || identification_of(packet) != 0) return false;
  if (sends_probes_) return true;
  if (!ack_timeout_ns_) ++counts_.guessed_probes;
  return is_too_early(packet, record.sent_ns);
}

/// Whether the packet at hand, which nothing asks for, is certain to come after a time-out.
bool RequestFlow::is_told_timeout(const CapturedPacket& packet) const {
  const bool by_repeats = unasked_ && unasked_->is_timeout && unasked_->mark.frame == packet.frame;
  return by_repeats || timer_ran_out(packet);
}

/// Whether a packet that nothing asks for is a probe. `alone`: it is the newest one, and older ones
/// are not sent again.
bool RequestFlow::is_probe(const CapturedPacket& packet, LongPsn psn, const PsnRecord* record,
                           bool alone) {
  if (repeats_tell_timeout(psn, record) || is_told_timeout(packet)) return false;
  const bool probe = alone || is_part_of_read(packet, psn) ||
                     (record != nullptr && is_early(packet, psn, *record));
  if (unasked_ && unasked_->mark.frame == packet.frame) unasked_->is_probe = probe;
  return probe;
}

void RequestFlow::take_probe(const CapturedPacket& packet, LongPsn psn) {
  sends_probes_ = true;
  Message* const message = messages_.find(psn);
  if (message == nullptr) return;
  message->sent_again = true;
  ask_again(*message, packet, psn);
  if (psn != message->first) message->in_parts = true;
}

/// The requester goes on with the packet `next`, or with none. If it does not go on behind the one
/// that it sent again, or did so too early, there was no time-out. Behind one that has its answer,
/// the very next must come: an older one that comes after it is another late copy.
void RequestFlow::settle_lone_repeat(std::optional<LongPsn> next, int64_t now_ns) {
  if (!lone_) return;
  const LoneRepeat lone = *lone_;
  lone_.reset();
  const bool follows =
      next && *next >= lone.next && *next < expected_ &&
      (*next == lone.next || (!lone.answered && now_ns - lone.mark.time_ns < kPauseNs));
  const bool goes_on = lone.next >= expected_ || follows;
  if (lone.ran_out) {
    if (!goes_on) episode_next_.reset();
    return;
  }
  if (goes_on && !lone.too_early) return;
  if (goes_on && !ack_timeout_ns_) ++counts_.guessed_probes;
  --counts_.timeouts;
  if (lone.answered) --counts_.answers_lost_after;
  --counts_.repeats.at(static_cast<size_t>(RepeatReason::kTimeout));
  ++counts_.repeats.at(static_cast<size_t>(RepeatReason::kProbe));
  trace_.take_back(repeat_event(RepeatReason::kTimeout), lone.mark.psn);
  trace_.mark(repeat_event(RepeatReason::kProbe), lone.mark);
  episode_reason_ = RepeatReason::kProbe;
  if (follows && *next == lone.next) return;
  if (!goes_on) sends_probes_ = true;
  episode_next_.reset();
}

}  // namespace urxe::analyze
