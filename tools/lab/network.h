// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <vector>

#include "tools/lab/failure.h"
#include "tools/lab/plan.h"

namespace urxe::lab {

/// Makes the plan's networks by rtnetlink: the switches are bridges in this process's network
/// namespace, and veth pairs are the cables. `nodes` has a process in each node's namespaces.
/// Returns when every link is up and every address usable.
Done make_network(const Plan& plan, const std::vector<pid_t>& nodes);

}  // namespace urxe::lab
