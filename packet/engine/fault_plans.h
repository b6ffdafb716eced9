// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "packet/engine/fault_plan.h"

namespace urxe {

/// The faults of a host's interfaces.
struct FaultPlans {
  struct OfInterface {
    std::string name;
    FaultPlan plan;
  };
  std::vector<OfInterface> interfaces;
  std::optional<FaultPlan> others;  ///< of all other interfaces; nullopt: none

  [[nodiscard]] const FaultPlan* of(std::string_view interface) const;
};

/// Reads the plans as a user writes them: WORDS, as parse_fault_plan() reads them, for all
/// interfaces, or parts joined by semicolons, each INTERFACE:WORDS, or WORDS for all others. The
/// error names the wrong word or part.
Expected<FaultPlans, std::string> parse_fault_plans(std::string_view text);

}  // namespace urxe
