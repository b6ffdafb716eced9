// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/request_flow.h"

#include <algorithm>
#include <cstdlib>

#include "packet/wire/ack_timeout.h"

namespace urxe::analyze {
namespace {

constexpr int64_t kSmallestMtu = 256;
constexpr int64_t kLargestMtu = 4096;

Operation operation_of(const CapturedPacket& packet) {
  return packet.view.headers.bth.opcode.operation();
}

int64_t packets_for(uint64_t bytes, int64_t mtu) {
  return std::max<int64_t>(1, (static_cast<int64_t>(bytes) + mtu - 1) / mtu);
}

}  // namespace

RequestFlow::RequestFlow(Psn start, uint32_t path_mtu, uint8_t ack_timeout)
    : begun_(true), anchor_(start), path_mtu_(path_mtu) {
  if (ack_timeout != 0 && ack_timeout <= kMaxTimeout) {
    ack_timeout_ns_ = ack_timeout_of(ack_timeout).ns;
  }
}

LongPsn RequestFlow::lengthen(Psn psn) const {
  return anchor_long_ + psn.distance_from(anchor_);
}

RequestFlow::Span RequestFlow::span_of(const CapturedPacket& packet) const {
  if (operation_of(packet) != Operation::kReadRequest) return {};
  if (!has_kept(packet, Ext::kReth)) return {1, kJump};
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
    reliable_ = is_reliable(packet);
    source_port_ = packet.flow.source_port;
    first_identification_ = packet.identification;
  }
  constexpr uint16_t kAboutToWrap = 0xff00;
  if (packet.identification == 0 && newest_identification_ < kAboutToWrap) {
    identifications_count_ = false;
  }
  note_time(packet);
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
  if (record->open_end && first != psn && !read) return false;
  if (record->opcode != packet.view.headers.bth.opcode) return true;
  // A READ goes on from the response that is missing.
  return !read && (first != psn || record->payload != packet.view.payload.size());
}

bool RequestFlow::on_request(const CapturedPacket& packet, ViolationLog& log) {
  if (!begun_) begin(packet);
  const LongPsn psn = lengthen(packet.view.headers.bth.psn);
  if (is_another(packet, psn)) return false;
  count_request(packet);
  trace_.request(packet.time_ns, psn, span_of(packet).least);
  settle_twice(psn);
  forget_stale_nak(packet);
  if (!is_copy(packet, psn)) settle_lone_repeat(psn, packet.time_ns);
  if (fill_ && fill_->next != psn) resolve_fill(goes_on_behind_fill(psn));
  if (operation_of(packet) != Operation::kReadRequest) shorten_read(psn);
  const Hole* const hole = line_.hole_at(psn);
  if (psn >= expected_) {
    take_new(packet, psn, log);
  } else if (hole != nullptr) {
    take_missing(packet, psn, *hole, log);
  } else if (psn < first_ && first_ - psn <= kBeforeFirst) {
    Hole before{first_, counts_.first_ns, first_identification_};
    before.since_ns = counts_.first_ns;
    line_.open_hole(psn, before);
    line_.doubt_all();
    first_ = psn;
    take_missing(packet, psn, before, log);
  } else {
    take_repeat(packet, psn);
  }
  if (!reliable_) messages_.forget_old();
  if (!is_older(packet.identification, newest_identification_).value_or(false)) {
    newest_identification_ = packet.identification;
  }
  last_request_ns_ = packet.time_ns;
  return true;
}

/// A packet in the middle of a READ whose length is not known: the READ ended before it, and what
/// is behind was missing.
void RequestFlow::shorten_read(LongPsn psn) {
  const auto found = line_.find(psn);
  if (!found || !found->second->open_end || found->first == psn) return;
  const LongPsn end = found->first + found->second->span;
  found->second->span = psn - found->first;
  if (Message* const message = messages_.find(found->first)) message->end = psn;
  Hole behind{end, found->second->time_ns, found->second->identification};
  behind.since_ns = found->second->time_ns;
  line_.open_hole(psn, behind);
}

void RequestFlow::put_record(const CapturedPacket& packet, LongPsn psn, bool late) {
  PsnRecord record;
  record.opcode = packet.view.headers.bth.opcode;
  record.identification = identification_of(packet);
  record.ack_req = packet.view.headers.bth.ack_req;
  record.payload = static_cast<uint32_t>(packet.view.payload.size());
  const Span span = span_of(packet);
  record.span = span.least;
  record.open_end = span.least != span.most;
  record.time_ns = record.sent_ns = packet.time_ns;
  record.doubtful = late || line_.has_hole_below(psn);
  line_.put(psn, record);
}

/// The READ before a new packet ends where that one begins, unless packets between are missing.
void RequestFlow::settle_read(LongPsn next, bool exact) {
  if (!open_read_) return;
  if (const auto found = line_.find(*open_read_)) {
    found->second->span = next - *open_read_;
    found->second->open_end = !exact;
  }
  if (Message* const message = messages_.find(*open_read_)) message->end = next;
  open_read_.reset();
}

void RequestFlow::take_new(const CapturedPacket& packet, LongPsn psn, ViolationLog& log) {
  episode_next_.reset();
  if (messages_.outstanding().empty()) restart_timer(packet.time_ns);
  const bool in_order = psn <= expected_most_;
  // The one that came right before may have been the missing one, with another PSN.
  corrupted_.forget(packet.view.headers.bth.psn, in_order ? packet.time_ns : last_request_ns_);
  settle_read(std::min(psn, expected_most_));
  if (!in_order) {
    Hole hole{psn, packet.time_ns, identification_of(packet)};
    hole.since_ns = last_request_ns_;
    line_.open_hole(expected_most_, hole);
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
  const Span range = span_of(packet);
  // A READ of unknown length may take all that is missing.
  const int64_t span = std::clamp(line_.missing_until(psn) - psn, range.least, range.most);
  const Asked asked = hole.asked;
  if (asked == Asked::kByReport) {
    least_repair_ns_ = std::min(least_repair_ns_, packet.time_ns - hole.asked_ns);
  }
  const int64_t since_ns = hole.since_ns;
  const int64_t shown_ns = hole.time_ns;
  line_.fill(psn, span);
  const bool known_late = (older && *older) || !is_reliable(packet);
  if (known_late) {
    ++counts_.out_of_order;
    mark(FlowEvent::kOutOfOrder, psn);
  } else {
    if (!fill_) {
      fill_ = PendingFill{};
      fill_->too_early = is_too_early(packet, since_ns);
    }
    fill_->next = psn + span;
    fill_->packets.push_back({psn, since_ns, shown_ns});
    fill_->reported = asked == Asked::kByReport;
    if (older || asked != Asked::kNot) resolve_fill(true);
  }
  put_record(packet, psn, known_late || !older);
  PsnRecord& record = *line_.find(psn)->second;
  record.query = next_query();
  record.span = span;
  if (range.least != range.most) {
    messages_.add(packet, psn, span, false).exact_end = false;
  } else {
    messages_.add(packet, psn, span, false);
  }
  check_order(packet, psn, span, log);
  check_size(packet, log);
}

void RequestFlow::finish() {
  settle_lone_repeat(std::nullopt);
  if (fill_) resolve_fill(nak_.has_value());
  if (!reliable_) messages_.forget_ended();
}

}  // namespace urxe::analyze
