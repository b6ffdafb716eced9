// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "tools/lab/failure.h"

namespace urxe::lab {

/// Where the programs that only a lab has are: `urxe`, and `ssh`, by which launchers reach other
/// nodes. In the node's own /dev/shm, so that nothing of it is left behind.
constexpr const char* kPrograms = "/dev/shm/urxe-lab";

/// For init: a /proc of its PID namespace, and `hosts` as /etc/hosts.
Done mount_for_all(const std::string& hosts);

/// For a node, in its own network, IPC and mount namespace: its own /dev/shm, with the programs and
/// the node's `faults`, and a /sys that shows its interfaces, if the kernel allows that.
Done mount_for_node(const std::string& faults);

/// In a node: what mount_for_node() got.
std::string read_faults();

}  // namespace urxe::lab
