// SPDX-License-Identifier: BSD-2-Clause
// In place of observing_commands.cc, for a program that runs others and does nothing else.
#include "tools/observing_commands.h"

namespace urxe {

std::vector<ObservingCommand> add_observing_commands(CLI::App& /*app*/) {
  return {};
}

std::optional<int> run_as_helper(int /*argc*/, char** /*argv*/) {
  return std::nullopt;
}

bool stays_under_run(int /*argc*/, char** /*argv*/) {
  return false;
}

}  // namespace urxe
