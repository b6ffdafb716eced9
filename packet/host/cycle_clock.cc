// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/cycle_clock.h"

#include "packet/host/clock.h"
#include "packet/host/read_file.h"

namespace urxe {
namespace {

/// The clock is read again after this time.
constexpr Duration kInterval = milliseconds(1);
/// The rate of cycles is not measured over more: the machine may have slept, or moved.
constexpr Duration kLongestMeasured = seconds(1);
/// A reading of the clock that took longer than this was interrupted.
constexpr uint64_t kMostCycles = 2000;
/// Processors count at 0.1 to 16 GHz.
constexpr uint64_t kLeastRate = 1;  ///< cycles in 10 ns
constexpr uint64_t kMostRate = 160;

#ifdef __x86_64__
uint64_t processor_cycles() {
  return __builtin_ia32_rdtsc();
}

/// The kernel uses them only if they count at one rate, and alike on all processors.
bool are_used_by_kernel() {
  const auto source = read_file("/sys/devices/system/clocksource/clocksource0/current_clocksource");
  return source && *source == "tsc\n";
}
#endif

}  // namespace

CycleClock::Sources CycleClock::usual_sources() {
#ifdef __x86_64__
  static const bool are_usable = are_used_by_kernel();
  if (are_usable) return {processor_cycles, clock_now};
#endif
  return {nullptr, clock_now};
}

Instant CycleClock::read() {
  const uint64_t before = sources_.cycles();
  const Instant time = sources_.time();
  const uint64_t after = sources_.cycles();
  // What is known of the rate stays; the next call reads the clock, too.
  if (after - before > kMostCycles) return time;
  const Duration since = time - read_;
  // Until the rate is known, it is measured from the first reading.
  if (valid_for_ == 0 && read_at_ != 0 && since.ns >= 0 && since < kInterval) return time;
  if (read_at_ != 0) measure(before - read_at_, since);
  read_ = time;
  read_at_ = before;
  return time;
}

/// So many cycles have passed in that time.
void CycleClock::measure(uint64_t cycles, Duration time) {
  if (time < kInterval || time > kLongestMeasured) return;
  const auto ns = static_cast<uint64_t>(time.ns);
  if (cycles < ns / 10 * kLeastRate || cycles > ns / 10 * kMostRate) return;
  ns_per_cycle_ = (ns << kFraction) / cycles;
  valid_for_ = cycles * static_cast<uint64_t>(kInterval.ns) / ns;
}

}  // namespace urxe
