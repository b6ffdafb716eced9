// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/delay_line.h"

#include <algorithm>
#include <utility>

namespace urxe {
namespace {

constexpr uint64_t kBitsPerByte = 8;
constexpr uint64_t kNsPerSecond = 1000000000;

}  // namespace

bool DelayLine::put(FaultLine::Packet packet, Instant now) {
  if (waiting_.size() >= kMostPackets) return false;
  free_ = std::max(free_, now);
  if (bits_per_second_ > 0) {
    const uint64_t ns = packet.bytes.size() * kBitsPerByte * kNsPerSecond / bits_per_second_;
    free_ = free_ + nanoseconds(static_cast<int64_t>(ns));
  }
  waiting_.push_back({free_ + delay_, std::move(packet)});
  return true;
}

void DelayLine::take(Instant now, std::deque<FaultLine::Packet>& out) {
  while (!waiting_.empty() && waiting_.front().due <= now) {
    out.push_back(std::move(waiting_.front().packet));
    waiting_.pop_front();
  }
}

void DelayLine::take_all(std::deque<FaultLine::Packet>& out) {
  for (Waiting& waiting : waiting_) out.push_back(std::move(waiting.packet));
  waiting_.clear();
}

std::optional<Instant> DelayLine::next() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.front().due;
}

std::optional<Instant> DelayLine::last() const {
  if (waiting_.empty()) return std::nullopt;
  return waiting_.back().due;
}

}  // namespace urxe
