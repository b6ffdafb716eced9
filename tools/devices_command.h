// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace urxe {

/// The options of `urxe devices`.
struct DevicesOptions {
  std::vector<std::string> devices;   ///< [NAME=]IFACE each
  std::optional<std::string> engine;  ///< as parse_engine_choice() reads it
  std::optional<std::string> dpdk_arguments;
  std::optional<std::string> sysfs;  ///< a folder for a copy of their files in /sys
  std::optional<double> interval;    ///< seconds between two updates of it
};

/// `urxe devices`: a table of the devices that `urxe run` would present. Returns the exit status: 2
/// if `run` would refuse the engine or an interface. With `sysfs`: writes the folder instead, once,
/// or until it is killed.
int devices_command(const DevicesOptions& options);

}  // namespace urxe
