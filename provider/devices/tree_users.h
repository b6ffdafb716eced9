// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace urxe {

/// Whether a process that this one may look into has `tree` as the URXE_TREE of its environment.
/// True if that cannot be told: /proc cannot be read, or a process is within execve(2) all the
/// time. Waits some 0.5 s at most.
bool is_in_use(const std::string& tree);

}  // namespace urxe
