// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/time.h"

namespace urxe {

/// The time by CLOCK_MONOTONIC, for code that needs it for every packet. It reads the kernel's
/// clock once in a millisecond and counts the processor's cycles in between, which takes half as
/// long. So it is wrong by a millisecond at most, and hardly ever by a microsecond. If the kernel's
/// clock does not count cycles, it reads that each time. Never goes back. Used by one thread at a
/// time.
class CycleClock {
 public:
  struct Sources {
    uint64_t (*cycles)();  ///< null: they cannot be used
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
  Instant read_{};             ///< the last reading of the kernel's clock
  uint64_t read_at_ = 0;       ///< the cycles at that time; 0: it was not read yet
  uint64_t valid_for_ = 0;     ///< so many cycles later it is read again; 0: at once
  uint64_t ns_per_cycle_ = 0;  ///< with kFraction
  Instant last_{INT64_MIN};
};

}  // namespace urxe
