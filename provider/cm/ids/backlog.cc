// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/backlog.h"

#include <algorithm>

namespace urxe::cm {

bool Backlog::take(const RequestSource::Key& source) {
  const auto found = used_by_.find(source);
  const uint32_t own = found == used_by_.end() ? 0 : found->second;
  if (used_ >= places_) {
    const uint32_t share = std::max(1U, places_ / 4);
    if (own >= share || used_ >= 2 * places_) return false;
  }
  ++used_by_[source];
  ++used_;
  return true;
}

void Backlog::give_back(const RequestSource::Key& source) {
  const auto found = used_by_.find(source);
  if (found == used_by_.end()) return;
  --used_;
  if (--found->second == 0) used_by_.erase(found);
}

}  // namespace urxe::cm
