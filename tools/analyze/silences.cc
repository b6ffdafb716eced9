// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/silences.h"

#include <algorithm>

namespace urxe::analyze {

void Silences::add(const Silence& silence) {
  const auto length = [](const Silence& s) { return s.to_ns - s.from_ns; };
  if (length(silence) < kLeastNs) return;
  ++count_;
  kept_.push_back(silence);
  if (kept_.size() <= kMost) return;
  kept_.erase(std::min_element(kept_.begin(), kept_.end(), [&](const auto& a, const auto& b) {
    return length(a) < length(b);
  }));
}

}  // namespace urxe::analyze
