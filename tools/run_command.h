// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tools/environment.h"

namespace urxe {

/// Becomes the program, which then sees the devices. Returns only on failure, with the exit status:
/// 127 program not found, 126 not executable, 2 an option that cannot be read or an engine,
/// interface or capture file that cannot be had, 125 any other failure. Prints the reason on
/// stderr.
int run_command(const RunOptions& options);

}  // namespace urxe
