// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/rate_series.h"

#include <algorithm>

namespace urxe::analyze {

void RateSeries::add(int64_t time_ns, uint64_t bytes) {
  if (used_ == 0) start_ns_ = time_ns;
  const int64_t since = std::max<int64_t>(time_ns - start_ns_, 0);
  while (since / slot_ns_ >= static_cast<int64_t>(kSlots)) {
    for (size_t i = 0; i < kSlots / 2; ++i) slots_[i] = slots_[2 * i] + slots_[2 * i + 1];
    std::fill(slots_.begin() + kSlots / 2, slots_.end(), 0);
    slot_ns_ *= 2;
    used_ = (used_ + 1) / 2;
  }
  const auto slot = static_cast<size_t>(since / slot_ns_);
  slots_[slot] += bytes;
  used_ = std::max(used_, slot + 1);
}

}  // namespace urxe::analyze
