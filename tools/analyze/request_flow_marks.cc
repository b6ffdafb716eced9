// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/request_flow.h"

namespace urxe::analyze {

Psn RequestFlow::trace_origin() const {
  return Psn(static_cast<uint32_t>(anchor_.value() - anchor_long_) & Psn::kMask);
}

/// Before the packet is taken: whose turn it was until now.
void RequestFlow::note_time(const CapturedPacket& packet) {
  const bool silent = counts_.packets != 0 &&
                      packet.time_ns - counts_.last_ns >= Silences::kLeastNs &&
                      turn() != Turn::kNobody;
  if (silent) silences_.add({counts_.last_ns, packet.time_ns, turn()});
  now_frame_ = packet.frame;
  now_ns_ = packet.time_ns;
}

void RequestFlow::mark(FlowEvent event, LongPsn psn) {
  trace_.mark(event, {now_frame_, now_ns_, psn});
}

}  // namespace urxe::analyze
