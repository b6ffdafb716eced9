// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>
#include <vector>

namespace urxe {

// Options of several commands. What they fill must outlive the command.

inline constexpr const char* kDpdkOption = "--dpdk-args";

void add_device_option(CLI::App* command, std::vector<std::string>& devices);
void add_engine_options(CLI::App* command, std::optional<std::string>& engine,
                        std::optional<std::string>& dpdk_arguments);

}  // namespace urxe
