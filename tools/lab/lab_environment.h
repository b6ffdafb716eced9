// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "tools/lab/node.h"

namespace urxe::lab {

/// Sets what programs in the lab find in their environment.
void set_lab_environment(const std::vector<HeldNode>& nodes);

}  // namespace urxe::lab
