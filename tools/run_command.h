// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace urxe {

/// What `urxe run` was told.
struct RunOptions {
  std::vector<std::string> devices;   ///< NAME=IFACE each
  std::string capture;                ///< pcapng file; empty: none
  std::optional<std::string> faults;  ///< as parse_fault_plan() reads it
  std::vector<std::string> command;   ///< program and arguments; not empty
};

/// Becomes the program, with the devices in its sight. Returns only where that fails, with the exit
/// status: 127 program not found, 126 not executable, 125 anything of ours; the reason is on
/// stderr.
int run_command(const RunOptions& options);

/// Where this process itself runs under `urxe run`: starts it again in the environment outside, so
/// that it sees the machine's real devices only. Otherwise does nothing.
void leave_outer_run(char** argv);

}  // namespace urxe
