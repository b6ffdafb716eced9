// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/obstacle.h"

namespace urxe::doctor {
namespace {

std::string in_one_line(const Finding& finding) {
  return finding.name + ": " + finding.what + "; what to do: " + finding.advice;
}

}  // namespace

std::string judge_obstacle(const ProgramFacts& program, const LibibverbsFacts& libibverbs) {
  if (!program.lack.empty()) return "";
  const Finding of_program = judge_program(program);
  if (of_program.level == Level::kProblem) return in_one_line(of_program);
  // A provider that is loaded by a library that it does not serve says so.
  const bool is_provider_loaded = libibverbs.load_error.empty() && libibverbs.provider_lack.empty();
  const Finding of_library = judge_libibverbs(libibverbs);
  const bool is_silent = of_library.level == Level::kProblem && !is_provider_loaded;
  return is_silent ? in_one_line(of_library) : "";
}

std::string find_obstacle(const std::vector<std::string>& command, const std::string& libraries) {
  return judge_obstacle(read_program(command.front(), {command.begin() + 1, command.end()}),
                        read_libibverbs(libraries));
}

}  // namespace urxe::doctor
