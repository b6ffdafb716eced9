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
/// long as init lives, and returns it.
Expected<pid_t, std::string> hold_node(const Node& node);

/// Enters the namespaces of the node that the process holds. The working directory stays the one
/// with the same path, if the node has it. Sets URXE_FAULTS if the node's ports have faults.
Done enter_node(pid_t holder);

struct HeldNode {
  std::string name;
  pid_t holder = 0;
};

/// The environment variables with the names of the nodes, and with the processes that hold them,
/// joined by commas.
constexpr const char* kNodesVariable = "URXE_LAB";
constexpr const char* kHoldersVariable = "URXE_LAB_HOLDERS";

/// Puts the nodes into the environment.
void publish_nodes(const std::vector<HeldNode>& nodes);

/// Where to look for directories of the user in other nodes, whose /dev/shm is their own: for
/// open_user_directory(), which trusts none that others could have made. Empty: this process is in
/// no lab.
std::vector<std::string> shm_of_nodes();

/// The nodes in the environment; empty: this process is in no lab.
std::vector<HeldNode> read_nodes();

/// The nodes in the values of the two variables; empty: these are none.
std::vector<HeldNode> parse_nodes(const std::string& names_text, const std::string& holders_text);

}  // namespace urxe::lab
