// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tools/environment.h"

namespace urxe {

/// Prints the variables that `urxe run` would set, a line each as a shell and systemd's
/// EnvironmentFile= read them. Returns the exit status, as `urxe run` would.
int env_command(const RunOptions& options);

}  // namespace urxe
