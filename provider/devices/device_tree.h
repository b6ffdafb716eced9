// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace urxe {

/// The directory that describes this process's devices: the one that the presence object names, or
/// else the environment variable URXE_TREE. Empty if neither names one. Thread-safe.
const std::string& device_tree();

}  // namespace urxe
