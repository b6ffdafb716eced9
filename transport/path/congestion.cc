// SPDX-License-Identifier: BSD-2-Clause
#include "transport/path/congestion.h"

#include <cstring>

#include "packet/wire/qpn_layout.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {
namespace {

// A peer on a shared processor sometimes answers late; an earlier probe would only add work.
constexpr Duration kMinProbeTimeout = milliseconds(4);
constexpr Duration kFirstProbeTimeout = milliseconds(20);
// Losses closer together than this count as one, also before a round trip was measured.
constexpr Duration kMinLossInterval = microseconds(50);

}  // namespace

void Path::on_acknowledged(uint32_t packets) {
  if (window_ >= max_window_) return;
  if (window_ < slow_start_threshold_) {
    window_ = std::min({max_window_, slow_start_threshold_, window_ + packets});
    return;
  }
  acknowledged_ += packets;
  while (acknowledged_ >= window_ && window_ < max_window_) {
    acknowledged_ -= window_;
    ++window_;
  }
}

bool Path::on_loss(Instant now) {
  if (now - last_loss_ < std::max(smoothed_, kMinLossInterval)) return false;
  last_loss_ = now;
  window_ = std::max(kMinWindow, window_ / 2);
  slow_start_threshold_ = window_;
  acknowledged_ = 0;
  return true;
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

Duration Path::probe_timeout() const {
  if (smoothed_.ns == 0) return kFirstProbeTimeout;
  return std::max(kMinProbeTimeout, smoothed_ * 2 + variation_ * 4);
}

void wake_waiting(ChannelAdapter& ca, Path& path) {
  for (uint32_t room = path.room(); room > 0; --room) {
    QueuePair* qp = path.waiting.front();
    if (qp == nullptr) return;
    path.waiting.remove(*qp);
    ca.active.push_back(*qp);
  }
}

size_t PathTable::Hash::operator()(const Key& key) const {
  uint64_t words[2];
  std::memcpy(words, key.destination.bytes.data(), sizeof words);
  const uint64_t mixed = (words[0] ^ (words[1] * 0x9e3779b97f4a7c15U)) + key.process;
  return static_cast<size_t>(mixed * 0xff51afd7ed558ccdU);
}

Path* PathTable::acquire(const Gid& destination, uint32_t qpn, uint32_t max_window) {
  std::unique_ptr<Path>& path = paths_[{destination, slot_of(Qpn(qpn))}];
  if (!path) path = std::make_unique<Path>(max_window);
  ++path->references;
  return path.get();
}

void PathTable::release(Path* path) {
  if (--path->references != 0) return;
  std::erase_if(paths_, [path](const auto& entry) { return entry.second.get() == path; });
}

}  // namespace urxe
