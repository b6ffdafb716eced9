// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/lane_choice.h"

#include <sched.h>

#include <algorithm>

namespace urxe {
namespace {

uint32_t usable_processors() {
  cpu_set_t usable;
  CPU_ZERO(&usable);
  // Fails on machines with more processors than the set has places.
  const bool is_known = sched_getaffinity(0, sizeof usable, &usable) == 0;
  return is_known ? static_cast<uint32_t>(CPU_COUNT(&usable)) : kMostLanes;
}

}  // namespace

Expected<LaneChoice, std::string> parse_lane_choice(std::string_view text) {
  if (text.empty() || text == "auto") {
    return LaneChoice{std::clamp<uint32_t>(usable_processors(), 1, kMostLanes)};
  }
  if (text.size() == 1 && text[0] >= '1' && text[0] <= static_cast<char>('0' + kMostLanes)) {
    return LaneChoice{static_cast<uint32_t>(text[0] - '0'), true};
  }
  return Unexpected<std::string>("'" + std::string(text) +
                                 "' is no number of lanes; accepted are auto and 1 to " +
                                 std::to_string(kMostLanes));
}

}  // namespace urxe
