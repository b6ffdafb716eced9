// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace urxe {

/// Of the variables that are 0 or 1 (URXE_SHM, URXE_STAT, URXE_EXPLAIN), removes those from the
/// environment that are something else. Returns a sentence on each: programs would ignore them, and
/// most would not say so.
std::vector<std::string> drop_unknown_switches();

}  // namespace urxe
