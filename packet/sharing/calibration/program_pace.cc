// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/calibration/program_pace.h"

#include <algorithm>
#include <string_view>

#include "packet/base/fnv.h"

namespace urxe {
namespace {

std::string_view text(const void* bytes, size_t count) {
  return {static_cast<const char*>(bytes), count};
}

/// The part of a hash that tells the address. Others of its bits select the entry.
constexpr uint64_t kAddressBits = 0xffffffff00000000;

/// Whether the time is in the future. One that is further ahead than any process sets it comes from
/// another clock, because processes that share a network can live in different time namespaces.
bool lies_ahead(int64_t time, Instant now, Duration furthest) {
  return time > now.ns && time <= (now + furthest).ns;
}

}  // namespace

ProgramPace::ProgramPace(ProgramTable& table, const Gid& address)
    : table_(table),
      address_(fnv1a(text(address.bytes.data(), address.bytes.size()))),
      entry_(table.entries[address_ % ProgramTable::kEntries]) {}

bool ProgramPace::begin(Instant now) {
  if (lies_ahead(table_.pause_until, now, kLongestPause)) return false;
  int64_t until = entry_.taken_until;
  if (lies_ahead(until, now, kLongestTurn)) return false;
  if (!entry_.taken_until.compare_exchange_strong(until, (now + kLongestTurn).ns)) return false;
  began_ = now;
  return true;
}

bool ProgramPace::searched_since(Instant when, Instant now) const {
  const int64_t began = entry_.search_began;
  const bool is_own = ((entry_.program ^ address_) & kAddressBits) == 0;
  return is_own && began > when.ns && began <= now.ns;
}

void ProgramPace::mark_change(Instant now) {
  entry_.changed = now.ns;
}

bool ProgramPace::has_changed() const {
  return entry_.changed > entry_.search_began;
}

bool ProgramPace::is_current(std::span<const GroupMember> members) const {
  return entry_.program == hash(members);
}

void ProgramPace::charge(Duration cost, Instant now) {
  const Duration pause = std::clamp(cost * kPauseFactor, kShortestPause, kLongestPause);
  table_.pause_until = (now + pause).ns;
}

void ProgramPace::end(std::span<const GroupMember> members) {
  entry_.program = hash(members);
  entry_.search_began = began_.ns;
  give_up();
}

void ProgramPace::give_up() {
  entry_.taken_until = 0;
}

uint64_t ProgramPace::hash(std::span<const GroupMember> members) const {
  uint64_t hash = address_;
  for (const GroupMember& member : members) {
    hash = fnv1a(text(&member.slot, sizeof member.slot), hash);
    hash = fnv1a(text(&member.index, sizeof member.index), hash);
  }
  return (address_ & kAddressBits) | (hash & ~kAddressBits);
}

}  // namespace urxe
