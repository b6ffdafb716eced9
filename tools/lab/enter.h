// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace urxe::lab {

/// Becomes the command, under `urxe run`, in a node, which is the number-th one, from 0. Returns
/// only on failure: the exit status 125, after a line on stderr.
int become_in_node(size_t number, const std::vector<std::string>& command);

/// `urxe lab exec`, for a process in a lab: becomes the command in the node of that name. Returns
/// only on failure, with the exit status: 2 there is no such node or no lab, 125 another failure.
int exec_in_node(const std::string& name, const std::vector<std::string>& command);

}  // namespace urxe::lab
