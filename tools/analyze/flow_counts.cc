// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/flow_counts.h"

#include <numeric>

namespace urxe::analyze {

std::string_view repeat_reason_name(RepeatReason reason) {
  constexpr std::array<std::string_view, kRepeatReasons> kNames = {
      "sequence_nak", "rnr_nak", "implied_nak", "timeout", "duplicate", "probe", "unknown"};
  return kNames.at(static_cast<size_t>(reason));
}

uint64_t FlowCounts::errors() const {
  return std::accumulate(naks.begin() + 1, naks.end(), uint64_t{0});
}

}  // namespace urxe::analyze
