// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>

#include "packet/base/expected.h"
#include "tools/lab/plan.h"

namespace urxe::lab {

/// Reads a plan as a user writes it: a statement a line, and `#` begins a comment.
///
///   switch NAME
///   node NAME
///   link A B [mtu=N] [loss=P%] [delay=T] [rate=R] [other words of --fault]
///
/// A link joins a node to a switch, two nodes, or two switches; it is the node's next interface:
/// eth0, eth1, and so on. Packets meet the words in both directions; a link between switches takes
/// only mtu=. Names are declared before their use. Gives the ports their addresses. The error
/// begins with the number of the line.
Expected<Plan, std::string> parse_topology(std::string_view text);

/// The same of a regular file of at most 1 MiB. The error begins with the path.
Expected<Plan, std::string> read_topology(const std::string& path);

}  // namespace urxe::lab
