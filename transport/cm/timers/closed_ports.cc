// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/timers/closed_ports.h"

#include <algorithm>

namespace urxe {

void ClosedPortMemory::note(const Gid& local, const Gid& peer, Instant now) {
  entries_[next_] = {local, peer, now + kValid};
  next_ = (next_ + 1) % kHosts;
}

bool ClosedPortMemory::has(const Flow& flow, Instant now) const {
  return std::ranges::any_of(entries_, [&](const Entry& entry) {
    return now < entry.end && entry.local == flow.source && entry.peer == flow.destination;
  });
}

}  // namespace urxe
