// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/route_cache.h"

#include <algorithm>
#include <cstring>
#include <new>

#include "packet/base/mix_bits.h"
#include "packet/host/held_signals.h"

namespace urxe {

size_t RouteCache::Hash::operator()(const Key& key) const {
  uint64_t hash = key.traffic_class;
  for (const Gid* const gid : {&key.source, &key.destination}) {
    uint64_t words[2];
    std::memcpy(words, gid->bytes.data(), sizeof words);
    for (const uint64_t word : words) hash = mix_bits(hash + word);
  }
  return hash;
}

RouteCache::Entry* RouteCache::find_entry(const Key& key) noexcept {
  if (last_ != nullptr && last_key_ == key) return last_;
  const auto known = entries_.find(key);
  if (known != entries_.end()) {
    last_ = &known->second;
    last_key_ = key;
    return last_;
  }
  const HeldSignals signals;  // a handler of the program may allocate, too
  try {
    if (entries_.size() >= kMaxRoutes) entries_.clear();
    last_ = &entries_[key];  // stays where it is until it is erased
    last_key_ = key;
  } catch (const std::bad_alloc&) {
    last_ = nullptr;
  }
  return last_;
}

const RouteCache::Route& RouteCache::lookup(const Flow& flow, Instant now) noexcept {
  if (forget_later_) forget(now);
  Entry* const entry = find_entry({flow.source, flow.destination, flow.traffic_class});
  if (entry == nullptr) return none_;
  entry->route.ask_kernel = false;
  if (entry->generation != generation_) {
    refresh(*entry, flow, now);
  } else if (now >= entry->ask_at) {
    const bool had_frames = entry->route.link.kind == LinkRoute::Kind::kFrames;
    refresh(*entry, flow, now);
    entry->route.ask_kernel = had_frames && !entry->route.link.confirmed;
  }
  return entry->route;
}

void RouteCache::refresh(Entry& entry, const Flow& flow, Instant now) {
  entry.route.link = find_(flow);
  entry.generation = generation_;
  const bool has_frames = entry.route.link.kind == LinkRoute::Kind::kFrames;
  entry.ask_at = now + (has_frames ? kConfirmInterval : kRetryInterval);
}

void RouteCache::forget(Instant now) {
  const int64_t earned = (now - counted_from_).ns / kForgetInterval.ns;
  if (earned > 0) {
    forgets_left_ = std::min(kForgetsAtOnce, forgets_left_ + earned);
    counted_from_ = now;
  }
  forget_later_ = forgets_left_ == 0;
  if (forget_later_) return;
  --forgets_left_;
  ++generation_;
}

}  // namespace urxe
