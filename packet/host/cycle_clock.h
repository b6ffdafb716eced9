// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// The time by CLOCK_MONOTONIC for whoever reads it all the time: counts on from the last reading
/// by the processor's cycles, which takes less than half as long as to read the clock. Reads the
/// clock again after a millisecond, so it is never wrong by more than that, and hardly ever by a
/// microsecond. If the kernel does not count the processor's cycles, either, it reads the clock
/// each time. Never goes back. Used by one thread at a time.
class CycleClock {
 public:
  struct Sources {
    uint64_t (*cycles)();  ///< null: they are of no use
    Instant (*time)();
  };
  /// The processor's cycles, if they can be used, and clock_now().
  static Sources usual_sources();

  explicit CycleClock(const Sources& sources = usual_sources()) : sources_(sources) {}

  [[nodiscard]] Instant now() {
    if (sources_.cycles == nullptr) return sources_.time();
    const uint64_t since = sources_.cycles() - read_at_;
    const Instant now = since < valid_for_ ? counted_on(since) : read();
    if (now > last_) last_ = now;
    return last_;
  }

 private:
  [[nodiscard]] Instant counted_on(uint64_t cycles) const {
    return {read_.ns + static_cast<int64_t>(cycles * ns_per_cycle_ >> kFraction)};
  }
  Instant read();
  void measure(uint64_t cycles, Duration time);

  static constexpr unsigned kFraction = 32;  ///< bits

  Sources sources_;
  Instant read_{};             ///< the clock said, when ...
  uint64_t read_at_ = 0;       ///< ... the cycles were these
  uint64_t valid_for_ = 0;     ///< cycles from then on; 0: ns_per_cycle_ is not known
  uint64_t ns_per_cycle_ = 0;  ///< with kFraction
  Instant last_{INT64_MIN};
};

}  // namespace urxe
