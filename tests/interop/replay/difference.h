// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace urxe::replay {

/// In what our packets may differ from recorded ones. Anything else is a failure.
enum class Difference : uint8_t {
  // In every capture, and any number of times.
  kSourcePort,
  kMigReq,
  kAckReq,
  kCredits,
  // Only in captures that say so, and exactly as often as they say (capture_table).
  kFaultyLink,
  kOwnRepeat,
  kRecordedRepeat,
  kUnrequestedAck,
  kResumedRead,
  kShortReceiveNak,
  kCount,
};
inline constexpr size_t kDifferences = static_cast<size_t>(Difference::kCount);

/// Who follows the specification where the two differ.
enum class Right : uint8_t { kBoth, kUrxe, kRecorded };

struct DifferenceRow {
  Difference difference;
  std::string_view name;
  bool everywhere;  ///< needs no line in the capture table
  Right right;
  std::string_view what;
  std::string_view clause;  ///< IBTA volume 1, or its annex A17
};

const std::array<DifferenceRow, kDifferences>& difference_table();
const DifferenceRow& row_of(Difference difference);

}  // namespace urxe::replay
