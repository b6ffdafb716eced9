// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace urxe::analyze {

/// Makes times of a clock that steps back go on from the frame before the step. Small steps stay:
/// programs that write to one capture do not quite keep the order.
class CaptureClock {
 public:
  static constexpr int64_t kLeastStepNs = 100'000'000;

  /// The time for a frame that the capture has at `time_ns`.
  int64_t steady(int64_t time_ns);
  [[nodiscard]] uint64_t steps() const { return steps_; }
  /// By how much the clock has stepped back in all.
  [[nodiscard]] int64_t stepped_ns() const { return stepped_ns_; }

 private:
  std::optional<int64_t> previous_ns_;  ///< of the capture
  int64_t before_step_ns_ = 0;          ///< the time before the newest step
  int64_t step_ns_ = 0;                 ///< that step; 0: it can no longer be taken back
  int64_t stepped_ns_ = 0;
  uint64_t steps_ = 0;
};

}  // namespace urxe::analyze
