// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/fault_plans.h"

#include <algorithm>

namespace urxe {
namespace {

/// The kernel allows no colon in an interface's name.
constexpr char kBehindInterface = ':';
constexpr char kBetweenParts = ';';

auto find(const FaultPlans& plans, std::string_view interface) {
  return std::ranges::find(plans.interfaces, interface, &FaultPlans::OfInterface::name);
}

Expected<void, std::string> take_part(std::string_view part, FaultPlans& plans) {
  const size_t colon = part.find(kBehindInterface);
  const bool is_named = colon != std::string_view::npos;
  const std::string_view name = is_named ? part.substr(0, colon) : std::string_view();
  const bool is_known =
      is_named ? find(plans, name) != plans.interfaces.end() : plans.others.has_value();
  const auto plan = parse_fault_plan(is_named ? part.substr(colon + 1) : part);
  if (!plan) return Unexpected<std::string>(plan.error());
  if (is_known || (is_named && name.empty())) {
    return Unexpected<std::string>(
        "'" + std::string(part) + "': " +
        (is_known ? "a second part for the same interfaces" : "no interface before the colon"));
  }
  if (is_named) {
    plans.interfaces.push_back({std::string(name), *plan});
  } else {
    plans.others = *plan;
  }
  return {};
}

}  // namespace

const FaultPlan* FaultPlans::of(std::string_view interface) const {
  const auto found = find(*this, interface);
  if (found != interfaces.end()) return &found->plan;
  return others ? &*others : nullptr;
}

Expected<FaultPlans, std::string> parse_fault_plans(std::string_view text) {
  FaultPlans plans;
  for (size_t start = 0; start <= text.size();) {
    const size_t end = std::min(text.find(kBetweenParts, start), text.size());
    const auto taken = take_part(text.substr(start, end - start), plans);
    if (!taken) return Unexpected<std::string>(taken.error());
    start = end + 1;
  }
  return plans;
}

}  // namespace urxe
