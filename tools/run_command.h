// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace urxe {

/// The options of `urxe run`.
struct RunOptions {
  std::vector<std::string> devices;   ///< NAME=IFACE each
  std::string capture;                ///< pcapng file; empty: none
  std::optional<std::string> faults;  ///< as parse_fault_plan() reads it
  std::optional<std::string> engine;  ///< as parse_engine_choice() reads it
  std::optional<bool> shm;            ///< whether memory carries packets on this host
  std::vector<std::string> command;   ///< program and arguments; not empty
};

/// Becomes the program, which then sees the devices. Returns only on failure, with the exit status:
/// 127 program not found, 126 not executable, 2 an engine or interface that cannot be had, 125 any
/// other failure. Prints the reason on stderr.
int run_command(const RunOptions& options);

/// If this process itself runs under `urxe run`, starts it again in the environment outside, so
/// that it sees only the machine's real devices.
void leave_outer_run(char** argv);

}  // namespace urxe
