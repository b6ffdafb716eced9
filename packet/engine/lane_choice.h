// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "packet/base/expected.h"

namespace urxe {

/// Lanes of a device in one process, at most.
inline constexpr size_t kMostLanes = 8;

/// The lanes that the user wants for each device: how many at most, and what gets one.
struct LaneChoice {
  uint32_t most = 1;  ///< 1 to kMostLanes
  /// Queue pairs with new queues get the next lane, whichever thread makes them. False: those that
  /// a thread makes get the lane of the thread.
  bool in_turn = false;
};

/// "1" to "8": so many lanes, in turn. "auto", or an empty text: a lane for each thread, up to the
/// number of processors that this process may use. The error names the word and the accepted ones.
Expected<LaneChoice, std::string> parse_lane_choice(std::string_view text);

}  // namespace urxe
