// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace urxe {

/// Whether a process that this one may look into has `tree` as the URXE_TREE of its environment.
/// True if /proc cannot be read. Takes up to some 0.1 s for each process without an environment.
bool is_in_use(const std::string& tree);

}  // namespace urxe
