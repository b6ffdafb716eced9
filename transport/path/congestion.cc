// SPDX-License-Identifier: BSD-2-Clause
#include "transport/path/congestion.h"

#include <cstring>

#include "packet/base/mix_bits.h"
#include "packet/wire/qpn_layout.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {
namespace {

// A peer on a shared processor sometimes answers late; an earlier probe would only add work.
constexpr Duration kMinProbeTimeout = milliseconds(4);
constexpr Duration kFirstProbeTimeout = milliseconds(20);
// Losses closer together than this count as one, also before a round trip was measured.
constexpr Duration kMinLossInterval = microseconds(50);
constexpr Duration kMinRepairTimeout = microseconds(300);
// Losses that are no congestion: less than one packet of so many, but for a few in a row.
constexpr uint32_t kPacketsPerLoss = 32;
constexpr uint32_t kTolerated = 8 * kPacketsPerLoss;

}  // namespace

void Path::on_acknowledged(uint32_t room) {
  loss_debt_ -= std::min(loss_debt_, room);
  if (window_ >= max_window_) return;
  if (window_ < slow_start_threshold_) {
    window_ = std::min({max_window_, slow_start_threshold_, window_ + room});
    return;
  }
  acknowledged_ += room;
  while (acknowledged_ >= window_ && window_ < max_window_) {
    acknowledged_ -= window_;
    window_ = std::min(max_window_, window_ + kGrowth);
  }
}

bool Path::on_loss(Instant now) {
  if (now - last_loss_ < std::max(smoothed_, kMinLossInterval)) return false;
  last_loss_ = now;
  max_window_ = socket_window_;
  window_ = std::clamp(window_ / 2, kMinWindow, max_window_);
  slow_start_threshold_ = window_;
  acknowledged_ = 0;
  return true;
}

bool Path::on_single_loss(uint32_t mtu, Instant now) {
  const uint32_t room = receive_room(mtu, true);
  loss_debt_ += kPacketsPerLoss * room;
  if (loss_debt_ <= kTolerated * room) return false;
  loss_debt_ = 0;
  return on_loss(now);
}

void Path::on_round_trip(Duration sample) {
  if (smoothed_.ns == 0) {
    smoothed_ = sample;
    variation_ = {sample.ns / 2};
    return;
  }
  const int64_t error = sample.ns - smoothed_.ns;  // RFC 6298's filter
  variation_.ns += ((error < 0 ? -error : error) - variation_.ns) / 4;
  smoothed_.ns += error / 8;
}

Duration Path::round_trip_bound() const {
  return smoothed_ * 2 + variation_ * 4;
}

Duration Path::probe_timeout() const {
  if (smoothed_.ns == 0) return kFirstProbeTimeout;
  return std::max(kMinProbeTimeout, round_trip_bound());
}

Duration Path::repair_timeout() const {
  return std::max(kMinRepairTimeout, round_trip_bound());
}

bool Path::begin_turn(QueuePair& qp, bool nothing_in_flight) {
  const bool was_called = called_ == &qp;
  if (has_room() && (was_called || (called_ == nullptr && !somebody_waits()))) {
    called_ = nullptr;
    static_cast<ListHook<WaitingTag>&>(qp).unlink();
    return true;
  }
  (nothing_in_flight ? fresh_ : waiting_).push_back(qp);
  return false;
}

bool Path::end_turn(ChannelAdapter& ca, QueuePair& qp) {
  if (!has_room()) return false;
  // Who was called without having anything to send gives its place away.
  if (called_ == &qp) leave_line(ca, qp);
  wake_next(ca);
  return called_ == &qp;
}

void Path::wake_next(ChannelAdapter& ca) {
  if (!has_room()) return;
  if (called_ == nullptr) {
    const bool from_fresh = waiting_.empty() || (!fresh_was_last_ && !fresh_.empty());
    called_ = (from_fresh ? fresh_ : waiting_).front();
    fresh_was_last_ = from_fresh;
  }
  if (called_ != nullptr) ca.active.push_back(*called_);
}

void Path::leave_line(ChannelAdapter& ca, QueuePair& qp) {
  static_cast<ListHook<WaitingTag>&>(qp).unlink();
  if (called_ != &qp) return;
  called_ = nullptr;
  wake_next(ca);
}

size_t PathTable::Hash::operator()(const Key& key) const {
  uint64_t words[2];
  std::memcpy(words, key.destination.bytes.data(), sizeof words);
  return mix_bits(words[0] + mix_bits(words[1] + mix_bits(key.process)));
}

Path* PathTable::acquire(const Gid& destination, uint32_t qpn, uint32_t max_window) {
  std::unique_ptr<Path>& path = paths_[{destination, slot_of(Qpn(qpn))}];
  if (!path) path = std::make_unique<Path>(max_window, &in_flight_);
  ++path->references;
  return path.get();
}

void PathTable::release(Path* path) {
  if (--path->references != 0) return;
  path->give_back(path->in_flight());
  std::erase_if(paths_, [path](const auto& entry) { return entry.second.get() == path; });
}

}  // namespace urxe
