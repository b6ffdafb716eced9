// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace urxe::doctor {

/// How bad a finding is. Only a problem changes the exit status.
enum class Level : uint8_t { kOk, kNote, kProblem };

/// What one check has found: a line for the user.
struct Finding {
  Level level = Level::kOk;
  std::string name;    ///< of the check
  std::string what;    ///< what was found
  std::string advice;  ///< what to do about it; empty: nothing

  friend bool operator==(const Finding&, const Finding&) = default;
};
using Findings = std::vector<Finding>;

inline Finding ok(std::string name, std::string what) {
  return {Level::kOk, std::move(name), std::move(what), ""};
}
inline Finding note(std::string name, std::string what, std::string advice = "") {
  return {Level::kNote, std::move(name), std::move(what), std::move(advice)};
}
inline Finding problem(std::string name, std::string what, std::string advice) {
  return {Level::kProblem, std::move(name), std::move(what), std::move(advice)};
}

}  // namespace urxe::doctor
