// SPDX-License-Identifier: BSD-2-Clause
#include "tools/analyze/capture_clock.h"

namespace urxe::analyze {

namespace {

/// A capture may have any times.
int64_t sum(int64_t a, int64_t b) {
  int64_t result = 0;
  if (!__builtin_add_overflow(a, b, &result)) return result;
  return b < 0 ? INT64_MIN : INT64_MAX;
}

}  // namespace

int64_t CaptureClock::steady(int64_t time_ns) {
  const int64_t forward = time_ns - previous_ns_.value_or(time_ns);
  if (forward <= -kLeastStepNs) {
    before_step_ns_ = *previous_ns_;
    step_ns_ = -forward;
    stepped_ns_ = sum(stepped_ns_, step_ns_);
    ++steps_;
  } else if (step_ns_ != 0 && forward >= kLeastStepNs && time_ns >= before_step_ns_) {
    // No step: the frames before this one were only written late.
    stepped_ns_ -= step_ns_;
    step_ns_ = 0;
    --steps_;
  }
  previous_ns_ = time_ns;
  return sum(time_ns, stepped_ns_);
}

}  // namespace urxe::analyze
