// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "tools/lab/failure.h"
#include "tools/lab/plan.h"

namespace urxe::lab {

/// For init: starts a process that holds a node's namespaces (network, mounts, IPC, host name) as
/// long as init lives, and returns it. init's first child has process id 2, the next one 3, ...:
/// by this a node is found again.
Expected<pid_t, std::string> hold_node(const Node& node);

/// Enters the namespaces of a node, which is the number-th one, from 0. The working directory stays
/// the one with the same path, if the node has it. Sets URXE_FAULTS if the node's ports have
/// faults.
Done enter_node(size_t number);

/// The environment variable with the names of the nodes, joined by commas.
constexpr const char* kNodesVariable = "URXE_LAB";

/// The names in URXE_LAB; empty: this process is in no lab.
std::vector<std::string> read_node_names();

}  // namespace urxe::lab
