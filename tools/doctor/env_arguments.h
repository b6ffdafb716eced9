// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace urxe::doctor {

/// Whether env(1) with these arguments starts a program without the variables of `urxe run`: with
/// `-i`, and without an LD_PRELOAD that is given anew.
bool env_clears(const std::vector<std::string>& arguments);

}  // namespace urxe::doctor
