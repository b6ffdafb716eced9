// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "packet/base/bytes.h"
#include "tools/analyze/request_flow.h"

namespace urxe::analyze {
namespace {

/// So many packets of a gap are looked at.
constexpr uint32_t kMostReported = 256;
/// A longer jump of the queries' numbers is no loss, but a part that the capture lacks.
constexpr int32_t kMostLostQueries = 16;
constexpr size_t kKeptLostQueries = 64;

}  // namespace

/// Queries count from one to the next; a repair has no such number.
void RequestFlow::on_gap_query(const CapturedPacket& packet) {
  const Psn number = packet.view.headers.bth.psn;
  now_frame_ = packet.frame;
  now_ns_ = packet.time_ns;
  sends_probes_ = true;
  settle_lone_repeat(std::nullopt);
  if (query_ && !number.is_after(*query_)) return take_late_query(number);
  const int32_t step = query_ ? number.distance_from(*query_) : 1;
  for (int32_t i = 1; i < step && step <= kMostLostQueries; ++i) {
    if (corrupted_queries_.take(number - static_cast<uint32_t>(i), last_request_ns_, now_ns_))
      continue;
    ++counts_.lost_before;
    mark(FlowEvent::kLostBefore, expected_);
    lost_queries_[(number - static_cast<uint32_t>(i)).value()] = expected_;
  }
  while (lost_queries_.size() > kKeptLostQueries) lost_queries_.erase(lost_queries_.begin());
  query_ = number;
  query_ns_ = packet.time_ns;
  corrupted_queries_.forget(number);
}

void RequestFlow::take_late_query(Psn number) {
  const auto found = lost_queries_.find(number.value());
  if (found == lost_queries_.end()) return;
  take_back_loss(found->second);
  lost_queries_.erase(found);
  ++counts_.out_of_order;
  mark(FlowEvent::kOutOfOrder, expected_);
}

/// Whether the repair of a hole should have come before this query: not if the requester, which
/// goes back, has still to come to it, nor if it sent the query before it can have had the report.
bool RequestFlow::was_sent_in_vain(LongPsn psn, Psn query) const {
  if (goes_back_ && episode_next_ && psn >= *episode_next_) return false;
  const Hole* const hole = line_.hole_at(psn);
  return hole != nullptr && query_ == query && query_ns_ - hole->asked_ns >= least_repair_ns_;
}

/// Whether a query followed the copy that came last: repairs end with one, so it was a repair.
bool RequestFlow::was_repair(const PsnRecord& record) const {
  return record.query && query_ && !query_->is_before(*record.query);
}

/// The query that will be the first one behind the packet at hand.
std::optional<Psn> RequestFlow::next_query() const {
  return query_.value_or(Psn(0)) + 1;
}

void RequestFlow::on_gap_report(const CapturedPacket& packet) {
  const auto& payload = packet.view.payload;
  if (packet.cut || payload.size() != kGapReportBytes || counts_.packets == 0) return;
  const LongPsn from = lengthen(packet.view.headers.bth.psn);
  if (from < expected_ - kJump || from >= expected_most_) return;
  const LongPsn to = from + std::min(load_be32(payload.data()), kMostReported);
  const Psn query(load_be32(payload.data() + 4));
  note_time(packet);
  restart_timer(packet.time_ns);
  counts_.last_ns = packet.time_ns;
  for (const LongPsn psn : line_.asked_in_vain(from, to, query)) {
    if (!was_sent_in_vain(psn, query)) continue;
    if (corrupted_.take(wire_psn(psn), last_request_ns_, now_ns_)) continue;
    ++counts_.lost_before;
    mark(FlowEvent::kLostBefore, psn);
  }
  line_.ask_for(from, to, Asked::kByReport, ReportQueries{query, *next_query(), packet.time_ns});
  line_.visit_records(from, to,
                      [&](LongPsn psn, PsnRecord& record) { note_reported(psn, record, query); });
}

/// Also what came behind a hole here: a responder that sends reports has kept it, if it came.
void RequestFlow::note_reported(LongPsn psn, PsnRecord& record, Psn query) {
  if (record.query && query.is_before(*record.query)) return;  // it does not know of this copy
  record.reported = true;
  if (record.lost_behind) return;
  record.lost_behind = true;
  ++counts_.lost_after;
  mark(FlowEvent::kLostAfter, psn);
}

}  // namespace urxe::analyze
