// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <vector>

#include "tools/lab/failure.h"
#include "tools/lab/node.h"

namespace urxe::lab {

/// A lab of this user, seen from outside.
struct RunningLab {
  pid_t keeper = 0;             ///< its `urxe lab`
  pid_t member = 0;             ///< a process in it
  std::vector<HeldNode> nodes;  ///< with the numbers that the processes have inside
};

/// The labs that this user has started in this PID namespace and that have a program in a node. A
/// lab in a lab is not among them.
std::vector<RunningLab> running_labs();

/// Enters the lab's user namespace and its files. Processes that this one starts then are in its
/// PID namespace, too. Only for a process with one thread.
Done enter_lab(pid_t member);

}  // namespace urxe::lab
