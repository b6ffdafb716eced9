// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace urxe {

/// `urxe devices`: a table of the devices that `urxe run` would present. Returns the exit status.
int devices_command(const std::vector<std::string>& device_arguments);

}  // namespace urxe
