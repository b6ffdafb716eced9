// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/link/neighbour_table.h"

namespace urxe {

size_t NeighbourTable::first_way(const Gid& address) const {
  return siphash(secret_, address.bytes) % (kEntries / kWays) * kWays;
}

Neighbour* NeighbourTable::find(const Gid& address) {
  Neighbour& again = entries_[last_];
  if (again.address == address && again.state != Neighbour::State::kFree) return &again;
  const size_t first = first_way(address);
  for (size_t i = first; i < first + kWays; ++i) {
    if (entries_[i].address != address || entries_[i].state == Neighbour::State::kFree) continue;
    last_ = i;
    return &entries_[i];
  }
  return nullptr;
}

Neighbour& NeighbourTable::find_or_add(const Gid& address) {
  if (Neighbour* const found = find(address)) return *found;
  const size_t first = first_way(address);
  size_t place = first;
  for (size_t i = first; i < first + kWays; ++i) {
    if (entries_[i].state == Neighbour::State::kFree) {
      place = i;
      break;
    }
    if (entries_[i].used < entries_[place].used) place = i;
  }
  entries_[place] = {};
  entries_[place].address = address;
  last_ = place;
  return entries_[place];
}

}  // namespace urxe
