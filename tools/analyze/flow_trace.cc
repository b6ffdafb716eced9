// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/flow_trace.h"

namespace urxe::analyze {

std::string_view flow_event_name(FlowEvent event) {
  constexpr std::array<std::string_view, kFlowEvents> kNames = {
      "repeat_sequence_nak", "repeat_rnr_nak",   "repeat_implied_nak", "repeat_timeout",
      "repeat_duplicate",    "repeat_probe",     "repeat_unknown",     "out_of_order",
      "lost_before",         "lost_after",       "sequence_nak",       "rnr_nak",
      "error_nak",           "missing_response", "corrupted"};
  return kNames.at(static_cast<size_t>(event));
}

void FlowTrace::take_back(FlowEvent event, LongPsn psn) {
  marks_.at(static_cast<size_t>(event)).take_back([psn](const Mark& m) { return m.psn == psn; });
}

}  // namespace urxe::analyze
