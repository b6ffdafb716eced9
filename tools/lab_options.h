// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>

#include "tools/lab/enter.h"
#include "tools/lab_command.h"

namespace urxe {

/// `urxe lab` and `urxe lab exec`.
struct LabCommands {
  CLI::App* lab;
  CLI::App* exec;
};

/// Adds them to the program's commands; `options` and exec's `request` must outlive them.
LabCommands add_lab(CLI::App& app, LabOptions& options, lab::ExecRequest& request);

}  // namespace urxe
