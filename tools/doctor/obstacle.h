// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/doctor/libibverbs.h"
#include "tools/doctor/program.h"

namespace urxe::doctor {

/// What keeps the command that `urxe run` starts from seeing devices, in one line, as far as files
/// and arguments tell it; empty: nothing is known. `libraries` is the directory of the provider.
/// What the provider or execvp() says itself is not told again.
std::string find_obstacle(const std::vector<std::string>& command, const std::string& libraries);

/// The same, judged by facts.
std::string judge_obstacle(const ProgramFacts& program, const LibibverbsFacts& libibverbs);

}  // namespace urxe::doctor
