// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <string>

namespace urxe {

/// What the user reads when the command line cannot be parsed: the command, what is wrong, what
/// would be right, and how to get help.
std::string command_line_error(const CLI::App* app, const CLI::Error& error);

/// The same about an option of the parsed command that was given an empty value, as a script does
/// whose variable is not set: it would be taken for one that is not given. Empty: there is none.
std::string empty_option(const CLI::App& app);

}  // namespace urxe
