// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "packet/base/expected.h"

namespace urxe::lab {

/// The name by which a launcher of processes starts this program in place of ssh(1).
constexpr const char* kRemoteShellName = "ssh";

/// What a command line of ssh asks for.
struct RemoteCommand {
  std::string host;     ///< without the user in front
  std::string command;  ///< for a shell; empty: an interactive shell
};

/// Reads ssh's arguments, without the program's name. Options are skipped, with their values. The
/// error is a line for the user.
Expected<RemoteCommand, std::string> parse_remote_command(
    const std::vector<std::string>& arguments);

/// `ssh HOST COMMAND` inside a lab: runs it in the node, as `urxe lab exec` does. Returns only on
/// failure, with ssh's exit status, 255.
int remote_shell(const std::vector<std::string>& arguments);

}  // namespace urxe::lab
