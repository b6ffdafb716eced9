// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/request_flow.h"

#include <algorithm>
#include <cstdlib>

namespace urxe::analyze {
namespace {

constexpr int64_t kSmallestMtu = 256;
constexpr int64_t kLargestMtu = 4096;
/// A longer jump of a requester that goes back is no loss: it begins elsewhere.
constexpr size_t kMostSkipped = 4;
/// No time-out of a requester is as short; the network's copies follow each other sooner.
constexpr int64_t kDuplicateWithinNs = 250'000;

Operation operation_of(const CapturedPacket& packet) {
  return packet.view.headers.bth.opcode.operation();
}

bool is_reliable(const CapturedPacket& packet) {
  return packet.view.headers.bth.opcode.service() != Service::kUc;
}

/// Identifications count up; 0 says nothing.
std::optional<bool> is_older(uint16_t identification, uint16_t other) {
  if (identification == 0 || other == 0) return std::nullopt;
  return static_cast<int16_t>(identification - other) < 0;
}

int64_t packets_for(uint64_t bytes, int64_t mtu) {
  return std::max<int64_t>(1, (static_cast<int64_t>(bytes) + mtu - 1) / mtu);
}

}  // namespace

RequestFlow::RequestFlow(Psn start, uint32_t path_mtu)
    : begun_(true), anchor_(start), path_mtu_(path_mtu) {}

LongPsn RequestFlow::lengthen(Psn psn) const {
  return anchor_long_ + psn.distance_from(anchor_);
}

RequestFlow::Span RequestFlow::span_of(const CapturedPacket& packet) const {
  if (operation_of(packet) != Operation::kReadRequest) return {};
  const uint64_t bytes = packet.view.headers.reth.dma_length;
  if (path_mtu_ != 0) return {packets_for(bytes, path_mtu_), packets_for(bytes, path_mtu_)};
  return {packets_for(bytes, kLargestMtu), packets_for(bytes, kSmallestMtu)};
}

void RequestFlow::begin(const CapturedPacket& packet) {
  begun_ = true;
  anchor_ = packet.view.headers.bth.psn;
}

/// The IPv4 identification, if the sender counts its packets in it; else 0. Segmentation by the
/// kernel begins with 0 again and again.
uint16_t RequestFlow::identification_of(const CapturedPacket& packet) const {
  return identifications_count_ ? packet.identification : uint16_t{0};
}

void RequestFlow::count_request(const CapturedPacket& packet) {
  if (counts_.packets == 0) {
    counts_.first_ns = packet.time_ns;
    counts_.first_frame = packet.frame;
    source_port_ = packet.flow.source_port;
    first_identification_ = packet.identification;
  }
  constexpr uint16_t kAboutToWrap = 0xff00;
  if (packet.identification == 0 && newest_identification_ < kAboutToWrap) {
    identifications_count_ = false;
  }
  ++counts_.packets;
  counts_.bytes += packet.view.payload.size();
  counts_.last_ns = packet.time_ns;
  rate_.add(packet.time_ns, packet.view.payload.size());
  if (packet.flow.source_port != source_port_) ++counts_.source_port_changes;
  source_port_ = packet.flow.source_port;
}

/// A queue pair that begins anew jumps to another PSN, or uses one again for another packet.
bool RequestFlow::is_another(const CapturedPacket& packet, LongPsn psn) {
  if (psn > expected_most_ + kJump || psn < expected_ - kJump) return true;
  if (psn >= expected_) return false;
  const auto found = line_.find(psn);
  if (!found) return false;
  const auto& [first, record] = *found;
  const bool read = operation_of(packet) == Operation::kReadRequest;
  if (record->opcode != packet.view.headers.bth.opcode) return true;
  // A READ goes on from the response that is missing.
  return !read && (first != psn || record->payload != packet.view.payload.size());
}

bool RequestFlow::on_request(const CapturedPacket& packet, ViolationLog& log) {
  if (!begun_) begin(packet);
  const LongPsn psn = lengthen(packet.view.headers.bth.psn);
  if (is_another(packet, psn)) return false;
  count_request(packet);
  if (fill_ && fill_->next != psn) resolve_fill(psn > fill_->next && psn < expected_);
  const Hole* const hole = line_.hole_at(psn);
  if (psn >= expected_) {
    take_new(packet, psn, log);
  } else if (hole != nullptr) {
    take_missing(packet, psn, *hole, log);
  } else if (psn < first_ && first_ - psn <= kBeforeFirst) {
    const Hole before{first_, counts_.first_ns, first_identification_};
    line_.open_hole(psn, before);
    line_.doubt_all();
    first_ = psn;
    take_missing(packet, psn, before, log);
  } else {
    take_repeat(packet, psn);
  }
  if (!is_reliable(packet)) messages_.forget();
  if (!is_older(packet.identification, newest_identification_).value_or(false)) {
    newest_identification_ = packet.identification;
  }
  return true;
}

void RequestFlow::put_record(const CapturedPacket& packet, LongPsn psn, bool late) {
  PsnRecord record;
  record.opcode = packet.view.headers.bth.opcode;
  record.identification = identification_of(packet);
  record.payload = static_cast<uint32_t>(packet.view.payload.size());
  record.span = span_of(packet).least;
  record.time_ns = packet.time_ns;
  record.doubtful = late || line_.has_hole_below(psn);
  line_.put(psn, record);
}

/// The READ before a new packet ends where that one begins.
void RequestFlow::settle_read(LongPsn next) {
  if (!open_read_) return;
  if (const auto found = line_.find(*open_read_)) found->second->span = next - *open_read_;
  if (Message* const message = messages_.find(*open_read_)) message->end = next;
  open_read_.reset();
}

void RequestFlow::take_new(const CapturedPacket& packet, LongPsn psn, ViolationLog& log) {
  episode_next_.reset();
  const bool in_order = psn <= expected_most_;
  settle_read(std::min(psn, expected_most_));
  if (!in_order) {
    line_.open_hole(expected_most_, {psn, packet.time_ns, identification_of(packet)});
  }
  const Span span = span_of(packet);
  put_record(packet, psn, false);
  expected_ = psn + span.least;
  expected_most_ = psn + span.most;
  anchor_ = packet.view.headers.bth.psn;
  anchor_long_ = psn;
  Message& message = messages_.add(packet, psn, span.least, in_order);
  if (span.least != span.most) {
    open_read_ = psn;
    message.exact_end = false;
  }
  if (nak_ && *nak_ < acknowledged_ && in_order) nak_.reset();
  check_order(packet, psn, span.least, log);
  check_size(packet, log);
  check_length(packet, message, log);
}

void RequestFlow::take_missing(const CapturedPacket& packet, LongPsn psn, const Hole& hole,
                               ViolationLog& log) {
  const auto older = is_older(identification_of(packet), hole.identification);
  const int64_t span = span_of(packet).least;
  line_.fill(psn, span);
  const bool known_late = (older && *older) || !is_reliable(packet);
  if (known_late) {
    ++counts_.out_of_order;
  } else {
    if (!fill_) fill_ = PendingFill{};
    fill_->next = psn + span;
    fill_->packets.push_back(psn);
    if (older) resolve_fill(true);
  }
  put_record(packet, psn, known_late || !older);
  messages_.add(packet, psn, span, false);
  check_order(packet, psn, span, log);
  check_size(packet, log);
}

/// Go-back-N repeats also what follows the missing packets; an overtaken packet comes alone.
void RequestFlow::resolve_fill(bool sent_again) {
  if (sent_again) {
    for (const LongPsn psn : fill_->packets) note_lost(psn);
    if (nak_ && *nak_ < fill_->next) {
      nak_.reset();
      episode_reason_ = RepeatReason::kSequenceNak;
    } else if (!episode_next_) {
      episode_reason_ = RepeatReason::kTimeout;
      ++counts_.timeouts;
    }
    episode_next_ = fill_->next;
    episode_broken_ = false;
  } else {
    counts_.out_of_order += fill_->packets.size();
  }
  fill_.reset();
}

/// A repeated packet that was sent before others that came by already.
bool RequestFlow::take_overtaken(const CapturedPacket& packet, LongPsn psn) {
  const auto found = line_.find(psn);
  const bool same = found && found->second->identification == identification_of(packet);
  if (same || !is_older(identification_of(packet), newest_identification_).value_or(false)) {
    return false;
  }
  ++counts_.out_of_order;
  counts_.lost_before -= believed_lost_.erase(psn);
  return true;
}

void RequestFlow::take_repeat(const CapturedPacket& packet, LongPsn psn) {
  if (fill_) resolve_fill(true);
  if (take_overtaken(packet, psn)) return;
  const auto found = line_.find(psn);
  PsnRecord* const record = found ? found->second : nullptr;
  const RepeatReason reason = reason_for(packet, psn, record);
  if (reason == RepeatReason::kDuplicate && believed_lost_.erase(psn) != 0) {
    --counts_.lost_before;
    ++counts_.out_of_order;
    return;
  }
  ++counts_.repeats.at(static_cast<size_t>(reason));
  if (record != nullptr) {
    record->time_ns = packet.time_ns;
    record->identification = identification_of(packet);
    record->doubtful = line_.has_hole_below(psn) || episode_broken_;
  }
  if (reason == RepeatReason::kDuplicate) return;
  Message* const message = messages_.find(psn);
  if (message != nullptr && message->kind == MessageKind::kRead) message->next_response = psn;
  // A READ that goes on in its middle ends where the first one ended.
  const int64_t end = found ? found->first + record->span : psn + 1;
  episode_next_ = std::max(end, psn + 1);
}

RepeatReason RequestFlow::reason_for(const CapturedPacket& packet, LongPsn psn,
                                     const PsnRecord* record) {
  if (!is_reliable(packet)) return RepeatReason::kDuplicate;
  if (record != nullptr && identification_of(packet) != 0 &&
      record->identification == identification_of(packet)) {
    return RepeatReason::kDuplicate;
  }
  // What was on its way when the responder asked still comes.
  const bool goes_on = episode_next_ == psn && nak_ != psn;
  // A requester may repeat its newest packet to get an answer.
  const auto newest = line_.find(expected_ - 1);
  const bool probe = newest && newest->first == psn && !goes_on && nak_ && *nak_ < psn;
  const bool asked_for =
      !goes_on && !probe && ((nak_ && *nak_ <= psn) || (rnr_ && rnr_->psn == psn));
  if (!asked_for && !probe && episode_next_ && psn >= *episode_next_) {
    note_skipped(*episode_next_, psn);
    return episode_reason_;
  }
  const int64_t since = record != nullptr ? packet.time_ns - record->time_ns : 0;
  const Message* const message = messages_.find(psn);
  RepeatReason reason = RepeatReason::kTimeout;
  if (nak_ && *nak_ <= psn && !probe) {
    reason = RepeatReason::kSequenceNak;
  } else if (rnr_ && rnr_->psn == psn) {
    reason = RepeatReason::kRnrNak;
  } else if (message != nullptr && message->overtaken) {
    reason = RepeatReason::kImpliedNak;
  } else if (since < kDuplicateWithinNs && identification_of(packet) == 0) {
    return RepeatReason::kDuplicate;
  }
  const LongPsn from = reason == RepeatReason::kSequenceNak ? *nak_ : psn;
  begin_episode(reason, psn, packet);
  note_skipped(from, psn);
  return reason;
}

void RequestFlow::begin_episode(RepeatReason reason, LongPsn psn, const CapturedPacket& packet) {
  episode_reason_ = reason;
  episode_broken_ = false;
  if (reason == RepeatReason::kTimeout) {
    ++counts_.timeouts;
    if (psn < acknowledged_) ++counts_.answers_lost_after;
  }
  if (reason == RepeatReason::kRnrNak) {
    counts_.rnr_waits.add(packet.time_ns - rnr_->time_ns);
    rnr_.reset();
  }
  if (reason == RepeatReason::kSequenceNak) nak_.reset();
  if (Message* const message = messages_.find(psn)) {
    ++message->repeats;
    message->overtaken = false;
  }
}

/// Packets that should have been repeated, but did not come by: lost once more.
void RequestFlow::note_skipped(LongPsn from, LongPsn to) {
  const std::vector<LongPsn> skipped = line_.between(from, to, kMostSkipped);
  if (skipped.size() > kMostSkipped) return;
  for (const LongPsn psn : skipped) note_lost(psn);
  if (!skipped.empty()) episode_broken_ = true;
}

void RequestFlow::note_lost(LongPsn psn) {
  ++counts_.lost_before;
  believed_lost_.insert(psn);
  if (believed_lost_.size() > PsnLine::kMaxHoles) believed_lost_.erase(believed_lost_.begin());
}

void RequestFlow::finish() {
  if (fill_) resolve_fill(nak_.has_value());
}

}  // namespace urxe::analyze
