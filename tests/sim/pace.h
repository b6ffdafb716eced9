// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>

#include "packet/base/time.h"
#include "tests/sim/plan.h"

namespace urxe::sim {

/// Keeps what nothing on the wire slows down, an unreliable service's requests, to a fair share of
/// the link and of what a host takes: reliable connections beside it would run out of retries else.
class Pace {
 public:
  explicit Pace(const Plan& plan)
      : sides_(int64_t{plan.connections} * 2),
        mtu_(128U << plan.mtu),
        picoseconds_per_byte_(plan.network.picoseconds_per_byte),
        ns_per_packet_(drive_ns(plan) / std::min(plan.receive_batch, plan.transmit_packets)) {}

  [[nodiscard]] bool may_send(Instant now) const { return now >= next_; }
  void sent(size_t bytes, Instant now) {
    const auto packets = static_cast<int64_t>(bytes / mtu_ + 1);
    const int64_t link_ns = static_cast<int64_t>(bytes) * picoseconds_per_byte_ / 1000;
    const int64_t ns = std::max(link_ns, packets * ns_per_packet_) * sides_;
    next_ = std::max(next_, now) + nanoseconds(ns);
  }

 private:
  /// From one time that a busy host drives its device to the next, on average.
  static int64_t drive_ns(const Plan& plan) {
    return 500 + plan.deschedule_max.ns / 2 * plan.deschedule_percent / 100;
  }

  int64_t sides_;
  uint32_t mtu_;
  int64_t picoseconds_per_byte_;
  int64_t ns_per_packet_;
  Instant next_{};
};

}  // namespace urxe::sim
