// SPDX-License-Identifier: BSD-2-Clause
#include "provider/umad/lids.h"

#include <algorithm>

namespace urxe::umad {

std::optional<uint16_t> LidRange::find(const LidPeer& peer) const {
  const auto found = std::ranges::find(entries_, peer, &Entry::peer);
  if (found == entries_.end()) return std::nullopt;
  return found->lid;
}

uint16_t LidRange::lid_of(const LidPeer& peer) {
  if (const auto known = find(peer)) return *known;
  entries_.push_back({peer, next_});
  next_ = next_ == last_ ? first_ : static_cast<uint16_t>(next_ + 1);
  if (entries_.size() > kCapacity) entries_.pop_front();
  return entries_.back().lid;
}

std::optional<LidPeer> LidRange::peer_of(uint16_t lid) const {
  const auto found = std::ranges::find(entries_, lid, &Entry::lid);
  if (found == entries_.end()) return std::nullopt;
  return found->peer;
}

uint16_t Lids::of_asked(const LidPeer& peer) {
  if (const auto wanted = wanted_.find({peer.gid, {}})) return *wanted;
  return senders_.lid_of(peer);
}

std::optional<LidPeer> Lids::peer_of(uint16_t lid) const {
  return lid < kFirstOfSenders ? wanted_.peer_of(lid) : senders_.peer_of(lid);
}

}  // namespace urxe::umad
