// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "packet/base/expected.h"
#include "packet/base/time.h"

namespace urxe {

/// How often each fault happens, in packets of a million; and what kind of line the packets pass.
struct FaultRates {
  uint32_t loss = 0;
  uint32_t duplication = 0;
  /// Held back until up to FaultLine::kMaxHeldBack later packets have passed.
  uint32_t reordering = 0;
  uint32_t corruption = 0;       ///< one bit flipped, anywhere in the packet
  Duration delay{};              ///< of each packet
  uint64_t bits_per_second = 0;  ///< of UDP payload; 0: no bound
  friend bool operator==(const FaultRates&, const FaultRates&) = default;
};

struct FaultPlan {
  uint64_t seed = 1;  ///< same seed, same packets: same faults
  FaultRates outgoing;
  FaultRates incoming;
  friend bool operator==(const FaultPlan&, const FaultPlan&) = default;
};

/// Reads a plan as a user writes it: words joined by commas, each at most once, in any order.
///
///   loss=P% duplication=P% reordering=P% corruption=P%   of the packets, 0 to 100, four decimals
///   delay=T                                              ns, us, ms or s; 10s at most
///   rate=R                                               bits a second, with K, M or G
///   seed=N                                               decimal, 64 bits; 1 if left out
///   direction=in|out|both                                which packets; both if left out
///
/// At least one of the first six must be there. The error names the wrong word and the accepted
/// ones.
Expected<FaultPlan, std::string> parse_fault_plan(std::string_view text);

}  // namespace urxe
