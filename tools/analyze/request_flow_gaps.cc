// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>

#include "packet/base/bytes.h"
#include "tools/analyze/request_flow.h"

namespace urxe::analyze {
namespace {

/// So many packets of a gap are looked at.
constexpr uint32_t kMostReported = 256;

}  // namespace

void RequestFlow::on_gap_query(const CapturedPacket& packet) {
  query_ = packet.view.headers.bth.psn;
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
  counts_.last_ns = packet.time_ns;
  line_.ask_for(from, to, Asked::kByReport);
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
