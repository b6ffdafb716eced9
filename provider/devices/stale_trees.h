// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "provider/devices/network_namespace.h"

namespace urxe {

/// These files of a tree say which network namespace and PID namespace it is for.
inline constexpr const char* kTreeNetworkFile = "netns";
inline constexpr const char* kTreeProcessesFile = "pidns";
/// How the names of trees of a network namespace begin: with its number.
std::string tree_name_prefix(const NetworkNamespace& netns);

/// Removes trees that are not used any more: those of a network namespace that is gone and whose
/// number `netns` has now; those that are in no process's environment and were last published a
/// week ago (an hour if the file system has less than 16 MiB of room, a minute if less than 4), or
/// an hour ago if they are another namespace's, or a minute ago if that one seems to be gone, too;
/// and damaged ones after a day. Trees that may be used by processes that /proc does not show stay.
/// Failures are ignored.
void remove_stale_trees(const std::string& runtime_directory, const NetworkNamespace& netns);

}  // namespace urxe
