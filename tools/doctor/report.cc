// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string_view>

namespace urxe::doctor {
namespace {

constexpr int kIndent = 2;

std::string printable(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return c < ' ' || c > '~'; }, '?');
  return text;
}

std::string_view mark_of(Level level) {
  return level == Level::kOk ? "ok" : level == Level::kNote ? "note" : "PROBLEM";
}

std::string_view name_of(Level level) {
  return level == Level::kProblem ? "problem" : mark_of(level);
}

size_t count_problems(const Findings& findings) {
  return static_cast<size_t>(std::ranges::count(findings, Level::kProblem, &Finding::level));
}

}  // namespace

std::string format_text(const Findings& findings) {
  size_t width = 0;
  for (const Finding& finding : findings) width = std::max(width, finding.name.size());
  std::string text;
  for (const Finding& finding : findings) {
    text += fmt::format("{:<7}  {:<{}}  {}\n", mark_of(finding.level), finding.name, width,
                        printable(finding.what));
    if (!finding.advice.empty()) {
      text += fmt::format("{:<{}}{}\n", "", 9 + width + 2, printable(finding.advice));
    }
  }
  return text;
}

std::string format_json(const Findings& findings) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const Finding& finding : findings) {
    nlohmann::ordered_json entry{{"name", finding.name},
                                 {"level", name_of(finding.level)},
                                 {"what", printable(finding.what)}};
    if (!finding.advice.empty()) entry["advice"] = printable(finding.advice);
    list.push_back(std::move(entry));
  }
  const nlohmann::ordered_json report{
      {"urxe", URXE_VERSION}, {"problems", count_problems(findings)}, {"findings", list}};
  return report.dump(kIndent) + "\n";
}

int exit_status(const Findings& findings) {
  return count_problems(findings) > 0 ? 1 : 0;
}

}  // namespace urxe::doctor
