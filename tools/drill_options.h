// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>

#include "tools/drill_command.h"

namespace urxe {

/// Adds `urxe drill` to the program's commands; `options` must outlive them.
CLI::App* add_drill(CLI::App& app, DrillOptions& options);

/// Whether the program is to do verbs itself: it then stays under an `urxe run` around it.
bool is_drill_agent(int argc, char** argv);

}  // namespace urxe
