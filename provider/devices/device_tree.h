// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace urxe {

/// The directory that describes this process's devices: the one that the presence object names, or
/// else the environment variable URXE_TREE. Empty if neither names one. If the process holds it and
/// may not use that path any more, another path to it. Thread-safe.
std::string device_tree();

/// From now on the process reaches the directory even if it becomes another user. Thread-safe.
void hold_device_tree();

}  // namespace urxe
