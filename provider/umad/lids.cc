// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/lids.h"

#include <algorithm>

namespace urxe::umad {

std::optional<uint16_t> LidRange::find(const Gid& gid) const {
  const auto found = std::ranges::find(entries_, gid, &Entry::gid);
  if (found == entries_.end()) return std::nullopt;
  return found->lid;
}

uint16_t LidRange::lid_of(const Gid& gid) {
  if (const auto known = find(gid)) return *known;
  entries_.push_back({gid, next_});
  next_ = next_ == last_ ? first_ : static_cast<uint16_t>(next_ + 1);
  if (entries_.size() > kCapacity) entries_.pop_front();
  return entries_.back().lid;
}

std::optional<Gid> LidRange::gid_of(uint16_t lid) const {
  const auto found = std::ranges::find(entries_, lid, &Entry::lid);
  if (found == entries_.end()) return std::nullopt;
  return found->gid;
}

uint16_t Lids::of_sender(const Gid& gid) {
  if (const auto wanted = wanted_.find(gid)) return *wanted;
  return senders_.lid_of(gid);
}

std::optional<Gid> Lids::gid_of(uint16_t lid) const {
  return lid < kFirstOfSenders ? wanted_.gid_of(lid) : senders_.gid_of(lid);
}

}  // namespace urxe::umad
