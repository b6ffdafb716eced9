// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/config.h"

#include <stdlib.h>

#include "provider/runtime/errors.h"

namespace urxe {
namespace {

std::string environment(const char* name) {
  const char* value = secure_getenv(name);
  return value != nullptr ? value : "";
}

LaneChoice find_lane_choice() {
  const auto choice = parse_lane_choice(environment("URXE_LANES"));
  if (!choice) print_error("URXE_LANES is ignored: " + choice.error());
  return choice ? *choice : *parse_lane_choice("");
}

using WantedFaults = Expected<FaultPlans, std::string>;

WantedFaults find_fault_plans() {
  const std::string text = environment("URXE_FAULTS");
  return text.empty() ? FaultPlans() : parse_fault_plans(text);
}

/// A variable that is 0 or 1.
bool find_wish(const char* name, bool otherwise) {
  const std::string text = environment(name);
  if (!text.empty() && text != "0" && text != "1") {
    print_error(std::string(name) + " is ignored: '" + text + "': accepted are 0 and 1");
  }
  return otherwise ? text != "0" : text == "1";
}

}  // namespace

// Never destroyed: threads and exit handlers may still ask.
const std::string& capture_path() {
  static const auto* const path = new std::string(environment("URXE_CAPTURE"));
  return *path;
}

const Expected<EngineChoice, std::string>& engine_choice() {
  static const auto* const choice =
      new Expected<EngineChoice, std::string>(parse_engine_choice(environment("URXE_ENGINE")));
  return *choice;
}

bool shares_ports() {
  return engine_choice().value_or(EngineChoice::kAuto) != EngineChoice::kDpdk;
}

LaneChoice lane_choice() {
  static const LaneChoice choice = find_lane_choice();
  return shares_ports() ? choice : LaneChoice();
}

const std::string& dpdk_arguments() {
  static const auto* const arguments = new std::string(environment("URXE_DPDK_ARGS"));
  return *arguments;
}

bool shm_wanted() {
  static const bool wanted = find_wish("URXE_SHM", true);
  return wanted;
}

bool stat_wanted() {
  static const bool wanted = find_wish("URXE_STAT", true);
  return wanted;
}

bool explain_wanted() {
  static const bool wanted = find_wish("URXE_EXPLAIN", false);
  return wanted;
}

const WantedFaults& fault_plans() {
  static const auto* const plans = new WantedFaults(find_fault_plans());
  return *plans;
}

}  // namespace urxe
