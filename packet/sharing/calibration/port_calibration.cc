// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/calibration/port_calibration.h"

#include <algorithm>
#include <new>

#include "packet/host/clock.h"
#include "packet/host/random.h"
#include "packet/wire/port_probe.h"
#include "packet/wire/qpn_layout.h"

namespace urxe {
namespace {

/// A process answers when its background thread runs, which on a crowded machine takes a while.
constexpr Duration kAnswerTime = milliseconds(50);
/// For the whole search. Far less than ProgramPace::kLongestTurn.
constexpr Duration kSearchTime = milliseconds(400);
/// Searches in a row that find what the kernel should know already. After that many the kernel is
/// told again, in case the record of what it knows is wrong. Then the number doubles, up to
/// kMostLeaveAlone.
constexpr uint32_t kLeaveAlone = 3;
constexpr uint32_t kMostLeaveAlone = 200;
constexpr int32_t kUnanswered = -1;

bool holds_slot(const std::vector<GroupMember>& members, uint32_t slot) {
  return std::any_of(members.begin(), members.end(),
                     [&](const GroupMember& m) { return m.slot == slot; });
}

}  // namespace

PortCalibration::PortCalibration(int fd, const SocketAddress& address, uint32_t own_slot,
                                 const ProgramPace& pace)
    : fd_(fd), address_(address), own_slot_(own_slot), pace_(pace), leave_alone_(kLeaveAlone) {
  slot_at_.reserve(kSlots + kBurst);
}

void PortCalibration::want(Reason reason, Instant now) {
  if (reason == Reason::kAstray) pace_.mark_change(now);
  if (state_ != State::kIdle) return;
  if (reason == Reason::kAstray && now < not_before_) return;
  if (reason == Reason::kLeaves && !pace_.has_changed()) return;
  wanted_at_ = now;
  state_ = State::kWaiting;
  try_turn(now);
}

void PortCalibration::try_turn(Instant now) {
  if (pace_.searched_since(wanted_at_, now)) {
    ++counters_.by_others;
    rest(now);
  } else if (pace_.begin(now)) {
    ++counters_.searches;
    prepared_ = false;
    search_end_ = now + kSearchTime;
    restart(now);
  }
}

void PortCalibration::restart(Instant now) {
  token_ = random_number();
  first_ = 0;
  slot_at_.clear();
  state_ = State::kSearching;
  send_burst(now);
}

void PortCalibration::send_burst(Instant now) {
  slot_at_.resize(first_ + kBurst, kUnanswered);
  for (uint32_t i = first_; i < first_ + kBurst; ++i) {
    const auto probe = encode_probe({i, token_, own_slot_});
    sendto(fd_, probe.data(), probe.size(), MSG_DONTWAIT, address_.get(), address_.size());
  }
  deadline_ = std::min(now + kAnswerTime, search_end_);
}

void PortCalibration::take(const ProbeAnswer& answer, Instant now) {
  if (!is_searching() || answer.token != token_) return;
  if (answer.index >= slot_at_.size() || answer.slot >= kSlots) return;
  slot_at_[answer.index] = static_cast<int32_t>(answer.slot);
  if (burst_answered()) end_burst(now);
}

void PortCalibration::tick(Instant now) {
  if (state_ == State::kWaiting) {
    try_turn(now);
  } else if (is_searching() && now >= deadline_) {
    end_burst(now);
  }
}

void PortCalibration::stop(Instant now) {
  if (is_searching()) pace_.give_up();
  pace_.mark_change(now);
  state_ = State::kIdle;
}

bool PortCalibration::burst_answered() const {
  return std::none_of(slot_at_.begin() + first_, slot_at_.end(),
                      [](int32_t slot) { return slot == kUnanswered; });
}

/// The burst found at least one member, and none twice.
bool PortCalibration::group_goes_on() const {
  bool any = false;
  for (auto at = slot_at_.begin() + first_; at != slot_at_.end(); ++at) {
    if (*at == kUnanswered) continue;
    if (std::find(slot_at_.begin(), at, *at) != at) return false;
    any = true;
  }
  return any;
}

std::vector<GroupMember> PortCalibration::found() const {
  std::vector<GroupMember> members;
  for (uint32_t i = 0; i < slot_at_.size(); ++i) {
    if (slot_at_[i] == kUnanswered) continue;
    const auto slot = static_cast<uint32_t>(slot_at_[i]);
    // The second answer of a slot was to an index out of range.
    if (!holds_slot(members, slot)) members.push_back({slot, i});
  }
  return members;
}

void PortCalibration::end_burst(Instant now) {
  if (group_goes_on() && first_ + kBurst < kSlots && now < search_end_) {
    first_ += kBurst;
    send_burst(now);
    return;
  }
  finish(now);
}

void PortCalibration::finish(Instant now) try {
  const std::vector<GroupMember> members = found();
  // One member, or others than this process: perhaps no program was attached, so that the probes
  // were distributed by hash.
  const bool doubtful = members.size() < 2 || !holds_slot(members, own_slot_);
  if (doubtful && !prepared_ && now < search_end_) {
    prepared_ = true;
    attach({});
    restart(now);
    return;
  }
  conclude(members, now);
} catch (const std::bad_alloc&) {
  pace_.give_up();
  rest(now);
}

void PortCalibration::conclude(const std::vector<GroupMember>& members, Instant now) {
  // A lone member gets everything, whatever the program. One that did not answer is a member, too.
  const bool alone = members.size() == 1 && burst_answered();
  if (!alone && !kernel_knows(members)) attach(members);
  pace_.end(members);
  rest(now);
}

/// Ends the wait or the search: this process or another one has found the result.
void PortCalibration::rest(Instant now) {
  state_ = State::kIdle;
  const uint64_t result = pace_.result();
  const bool found_news = result != known_result_;
  known_result_ = result;
  if (found_news) leave_alone_ = kLeaveAlone;
  pause_ = found_news ? kMinPause : std::min(pause_ * 2, kMaxPause);
  not_before_ = now + pause_;
}

/// Whether the kernel has a program for exactly these members.
bool PortCalibration::kernel_knows(const std::vector<GroupMember>& members) {
  const bool is_news = prepared_ || !pace_.is_current(members);
  if (!is_news && left_alone_ < leave_alone_) {
    ++left_alone_;
    return true;
  }
  left_alone_ = 0;
  if (!is_news) leave_alone_ = std::min(2 * leave_alone_, kMostLeaveAlone);
  return false;
}

void PortCalibration::attach(const std::vector<GroupMember>& members) {
  const Instant before = clock_now();
  // Without the program the kernel selects by its own hash, which forwarding makes good.
  (void)attach_reuseport_program(fd_, members);
  const Instant after = clock_now();
  pace_.charge(after - before, after);
  ++counters_.programs;
}

}  // namespace urxe
