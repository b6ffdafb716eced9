// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>

#include "packet/base/time.h"
#include "tests/sim/plan.h"

namespace urxe::sim {

/// Keeps what nothing on the wire slows down, an unreliable service's requests, to a fair share of
/// the link: reliable connections beside it would run out of retries else.
class Pace {
 public:
  explicit Pace(const Plan& plan)
      : picoseconds_per_byte_(int64_t{plan.network.picoseconds_per_byte} * plan.connections * 2) {}

  [[nodiscard]] bool may_send(Instant now) const { return now >= next_; }
  void sent(size_t bytes, Instant now) {
    const int64_t ps = static_cast<int64_t>(bytes) * picoseconds_per_byte_;
    next_ = std::max(next_, now) + nanoseconds(ps / 1000);
  }

 private:
  int64_t picoseconds_per_byte_;
  Instant next_{};
};

}  // namespace urxe::sim
