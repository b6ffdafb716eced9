// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/lab/plan.h"

namespace urxe::lab {

/// What runs in a lab.
struct Session {
  Plan plan;
  std::vector<std::string> command;  ///< runs in the first node, under `urxe run`
};

/// Makes the lab, runs the command in it, and takes it down: the lab is a PID namespace, of which
/// the kernel kills every process as soon as its init ends, and init ends with this process,
/// however it ends. Returns COMMAND's exit status, 128 and the number of the signal that ended it,
/// or 125 after a line on stderr.
int run_session(const Session& session);

}  // namespace urxe::lab
