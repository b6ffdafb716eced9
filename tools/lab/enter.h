// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

namespace urxe::lab {

/// Becomes the command, under `urxe run`, in the node that the process holds. Returns only on
/// failure: the exit status 125, after a line on stderr.
int become_in_node(pid_t holder, const std::vector<std::string>& command);

/// For a process in a lab: becomes the command in the node of that name. Returns only on failure,
/// with the exit status: 2 there is no such node or no lab, 125 another failure.
int exec_in_node(const std::string& name, const std::vector<std::string>& command);

/// `urxe lab exec`: what to run, and where.
struct ExecRequest {
  std::string node;
  std::vector<std::string> command;
  pid_t keeper = 0;  ///< the `urxe lab` of the lab; 0: the lab that this process is in, or the only
                     ///< one that runs
};

/// In a lab the same as exec_in_node(). Outside runs the command in a lab of this user, and returns
/// its exit status, or 2 and 125 as exec_in_node().
int lab_exec(const ExecRequest& request);

}  // namespace urxe::lab
