// SPDX-License-Identifier: BSD-2-Clause
#include "packet/sharing/port_calibration.h"

#include <algorithm>
#include <array>

#include "packet/host/random.h"
#include "packet/wire/qpn_layout.h"

namespace urxe {
namespace {

constexpr Duration kAnswerTime = milliseconds(2);
constexpr int32_t kUnanswered = -1;

bool holds_slot(const std::vector<GroupMember>& members, uint32_t slot) {
  return std::any_of(members.begin(), members.end(),
                     [&](const GroupMember& m) { return m.slot == slot; });
}

}  // namespace

PortCalibration::PortCalibration(int fd, const SocketAddress& address, uint32_t own_slot)
    : fd_(fd), address_(address), own_slot_(own_slot) {
  slot_at_.reserve(kSlots + kBurst);
}

void PortCalibration::start(Instant now) {
  prepared_ = false;
  restart(now);
}

void PortCalibration::restart(Instant now) {
  token_ = random_number();
  first_ = 0;
  slot_at_.clear();
  running_ = true;
  send_burst(now);
}

void PortCalibration::send_burst(Instant now) {
  slot_at_.resize(first_ + kBurst, kUnanswered);
  for (uint32_t i = first_; i < first_ + kBurst; ++i) {
    const auto probe = encode_probe({i, token_, own_slot_});
    sendto(fd_, probe.data(), probe.size(), MSG_DONTWAIT, address_.get(), address_.size());
  }
  deadline_ = now + kAnswerTime;
}

void PortCalibration::take(const ProbeAnswer& answer, Instant now) {
  if (answer.token != token_ || answer.index >= slot_at_.size() || answer.slot >= kSlots) return;
  slot_at_[answer.index] = static_cast<int32_t>(answer.slot);
  if (!running_) {
    finish(now);  // from a process that took longer than the search waited
  } else if (burst_answered()) {
    end_burst(now);
  }
}

void PortCalibration::tick(Instant now) {
  if (running_ && now >= deadline_) end_burst(now);
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
  if (group_goes_on() && first_ + kBurst < kSlots) {
    first_ += kBurst;
    send_burst(now);
    return;
  }
  finish(now);
}

void PortCalibration::finish(Instant now) {
  const std::vector<GroupMember> members = found();
  // One member or not even this process: perhaps no program was attached, and all went by hash.
  const bool doubtful = members.size() < 2 || !holds_slot(members, own_slot_);
  if (doubtful && !prepared_) {
    prepared_ = true;
    attach_reuseport_program(fd_, {});
    restart(now);
    return;
  }
  conclude();
}

void PortCalibration::conclude() {
  std::vector<GroupMember> members = found();
  running_ = false;
  attach_reuseport_program(fd_, members);
  found_news_ = members != members_;
  members_ = std::move(members);
}

}  // namespace urxe
