// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <string>

namespace urxe {

/// Whether a process that this one may look into has `tree` as the URXE_TREE of its environment.
/// True if that cannot be told: /proc cannot be read, or a process is within execve(2) all the
/// time. Waits some 0.5 s at most.
bool is_in_use(const std::string& tree);

/// The numbers of the network namespaces that processes are in which this one may look into, and of
/// those that are mounted where this one sees it (ip-netns(8)). nullopt if /proc cannot be read.
std::optional<std::set<uint64_t>> living_network_namespaces();

}  // namespace urxe
