// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <string>
#include <vector>

#include "tests/interop/replay/difference.h"

namespace urxe::replay {

/// How often a difference may be found; it must be, too.
struct Allowance {
  Difference difference;
  uint32_t times;
};

/// What a replay has found: differences of the listed kinds, and errors, which are all others.
class Ledger {
 public:
  void note(Difference difference, const std::string& where);
  void error(std::string text) { errors_.push_back(std::move(text)); }

  [[nodiscard]] uint32_t times(Difference difference) const;
  [[nodiscard]] const std::vector<std::string>& errors() const { return errors_; }

  /// The errors, and a line for each difference that was found more or less often than allowed;
  /// empty: the recording and the device agree.
  [[nodiscard]] std::string verdict(const std::vector<Allowance>& allowances) const;

 private:
  std::array<std::vector<std::string>, kDifferences> found_;  ///< where
  std::vector<std::string> errors_;
};

}  // namespace urxe::replay
