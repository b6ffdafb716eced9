// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "provider/devices/device_list.h"

namespace urxe {

/// The ports that DPDK finds with the --dpdk-args, with what they say of the ports. DPDK runs in a
/// child for that, which leaves nothing behind; so the program will find the same. `libraries` has
/// the plug-in. The error is a line for the user.
Expected<std::vector<DpdkPort>, std::string> find_dpdk_ports(const std::string& libraries,
                                                             const std::string& arguments);

}  // namespace urxe
