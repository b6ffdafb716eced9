// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <functional>
#include <optional>
#include <vector>

namespace urxe {

/// A command that only looks at what there is: machines, programs, captures, peers.
struct ObservingCommand {
  CLI::App* app;
  std::function<int()> run;  ///< returns the exit status; once
};

/// Adds analyze, doctor, drill, stat and top to the program's commands.
std::vector<ObservingCommand> add_observing_commands(CLI::App& app);

/// If the program was started by one of them, to do a part of its work: does it, and returns the
/// exit status.
std::optional<int> run_as_helper(int argc, char** argv);

/// Whether the program is to do verbs itself: it then stays under an `urxe run` around it.
bool stays_under_run(int argc, char** argv);

}  // namespace urxe
