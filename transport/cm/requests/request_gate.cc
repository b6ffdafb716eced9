// SPDX-License-Identifier: BSD-2-Clause
#include "transport/cm/requests/request_gate.h"

#include <algorithm>
#include <new>
#include <utility>

namespace urxe {
namespace {

/// A REP that was not answered for so long makes room for others. An answer takes a round trip.
constexpr Duration kOverdue = seconds(1);
/// The same, if only its source has reached a bound. On a busy host some programs answer late.
constexpr Duration kOverdueOfOne = seconds(4);
// One source may take 1/kWaitingPart or 1/kRepliedPart of the room that is left.
constexpr uint32_t kWaitingPart = 2;
constexpr uint32_t kRepliedPart = 4;
/// 1/kKnownPart of all room is for sources with connections.
constexpr uint32_t kKnownPart = 4;

uint32_t limit_for(bool known, uint32_t limit) {
  return known ? limit : limit - limit / kKnownPart;
}

/// How many sources one call of take_next() looks at. The next call continues behind them.
constexpr int kLooks = 32;

}  // namespace

RequestSource::Key source_key(const Gid& address) {
  return source_network(address).bytes;
}

RequestGate::RequestGate(const CmConfig& config)
    : limits_(config.requests), seen_(config.id_secret) {}

RequestSource* RequestGate::find(const RequestSource::Key& key) {
  const auto found = sources_.find(key);
  return found == sources_.end() ? nullptr : &found->second;
}

RequestSource* RequestGate::make(const RequestSource::Key& key) {
  try {
    RequestSource& source = sources_[key];
    source.key = key;
    return &source;
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}

bool RequestGate::is_suspect(const RequestSource* source) const {
  const bool is_new = source == nullptr || (source->half_open() == 0 && !source->is_known());
  return is_new && half_open_sources_ >= limits_.max_sources;
}

RequestSource* RequestGate::admit(const Gid& peer, CommId id, Qpn qpn, Instant now) {
  const RequestSource::Key key = source_key(peer);
  RequestSource* source = find(key);
  if (is_suspect(source) && !seen_.came_before(peer, id, qpn, now)) return nullptr;
  const uint32_t waits = source != nullptr ? source->waits : 0;
  const bool is_known = source != nullptr && source->is_known();
  const uint32_t limit = limit_for(is_known, limits_.max_waiting);
  if (waits_ >= limit || waits >= (limit - waits_) / kWaitingPart + 1) return nullptr;
  return source != nullptr ? source : make(key);
}

void RequestGate::add(RequestSource& source, Communication& c) {
  c.source = &source;
  change(c, HalfOpen::kWaiting);
  source.waiting.push_back(c);
  turns_of(source).push_back(source);
}

IntrusiveList<RequestSource, SourcesThatWait>& RequestGate::turns_of(const RequestSource& source) {
  return source.is_known() ? known_turns_ : turns_;
}

/// A consumer may collect many requests before it answers the first one. So requests that it has
/// not answered count towards max_replied only if others wait for the peer's confirmation.
bool RequestGate::is_full(bool known) const {
  return told_ >= limit_for(known, limits_.max_told) ||
         (replied_ > 0 && told_ + replied_ >= limit_for(known, limits_.max_replied));
}

bool RequestGate::may_tell(const RequestSource& source) const {
  const bool known = source.is_known();
  if (is_full(known) || source.told >= limits_.max_told - told_) return false;
  return has_share_left(source);
}

/// Whether the source may have one more REP unanswered.
bool RequestGate::has_share_left(const RequestSource& source) const {
  if (source.replied == 0) return true;
  const uint32_t limit = limit_for(source.is_known(), limits_.max_replied);
  const uint32_t left = limit - std::min(limit, told_ + replied_);
  const uint32_t part = std::max(1U, left / kRepliedPart);
  return source.told + source.replied < std::min(limits_.max_replied_of_one, part);
}

Communication* RequestGate::take_from(RequestSource& source) {
  if (source.waiting.empty() || !may_tell(source)) return nullptr;
  Communication& c = *source.waiting.front();
  change(c, HalfOpen::kTold);
  return &c;
}

Communication* RequestGate::take_next(const RequestSource::Key* first) {
  RequestSource* const changed = first != nullptr ? find(*first) : nullptr;
  if (changed != nullptr) {
    if (Communication* c = take_from(*changed)) return c;
  }
  if (is_full(true)) return nullptr;
  if (Communication* c = take_turn(known_turns_)) return c;
  return is_full(false) ? nullptr : take_turn(turns_);
}

Communication* RequestGate::take_turn(IntrusiveList<RequestSource, SourcesThatWait>& turns) {
  for (int looks = 0; looks < kLooks && !turns.empty(); ++looks) {
    RequestSource& source = *turns.front();
    turns.move_to_back(source);
    if (Communication* c = take_from(source)) return c;
  }
  return nullptr;
}

void RequestGate::on_reply(Communication& c, Instant now) {
  if (c.half_open != HalfOpen::kTold) return;
  change(c, HalfOpen::kReplied);
  c.replied_at = now;
  replied_list_.push_back(c);
  c.source->unanswered.push_back(c);
}

void RequestGate::on_confirmed(Communication& c) {
  if (c.half_open != HalfOpen::kNone) change(c, HalfOpen::kConfirmed);
}

void RequestGate::leave(Communication& c) {
  if (c.half_open == HalfOpen::kNone) return;
  change(c, HalfOpen::kNone);
  give_up(*std::exchange(c.source, nullptr));
}

void RequestGate::give_up(RequestSource& source) {
  if (source.half_open() > 0 || source.is_known()) return;
  sources_.erase(RequestSource::Key(source.key));
}

Communication* RequestGate::overdue(Instant now) {
  if (!is_full(false)) return nullptr;
  Communication* const oldest = replied_list_.front();
  return oldest != nullptr && now - oldest->replied_at >= kOverdue ? oldest : nullptr;
}

/// Peers say how long their REPs are to wait, which may be hours.
Communication* RequestGate::overdue_of(const Gid& peer, Instant now) {
  RequestSource* const source = find(source_key(peer));
  if (source == nullptr || has_share_left(*source)) return nullptr;
  Communication* const oldest = source->unanswered.front();
  return oldest != nullptr && now - oldest->replied_at >= kOverdueOfOne ? oldest : nullptr;
}

void RequestGate::count(RequestSource& source, HalfOpen stage, uint32_t change) {
  switch (stage) {
    case HalfOpen::kNone:
      return;
    case HalfOpen::kWaiting:
      source.waits += change;
      waits_ += change;
      return;
    case HalfOpen::kTold:
      source.told += change;
      told_ += change;
      return;
    case HalfOpen::kReplied:
      source.replied += change;
      replied_ += change;
      return;
    case HalfOpen::kConfirmed:
      source.confirmed += change;
      return;
  }
}

void RequestGate::change(Communication& c, HalfOpen next) {
  RequestSource& source = *c.source;
  const bool was_half_open = source.half_open() > 0;
  static_cast<ListHook<HalfOpenMembers>&>(c).unlink();
  static_cast<ListHook<RepliedOfSource>&>(c).unlink();
  count(source, c.half_open, static_cast<uint32_t>(-1));
  c.half_open = next;
  count(source, next, 1);
  static_cast<ListHook<SourcesThatWait>&>(source).unlink();
  if (!source.waiting.empty()) turns_of(source).push_back(source);
  const bool is_half_open = source.half_open() > 0;
  if (is_half_open && !was_half_open) ++half_open_sources_;
  if (!is_half_open && was_half_open) --half_open_sources_;
}

}  // namespace urxe
