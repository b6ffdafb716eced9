// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "packet/base/expected.h"
#include "provider/devices/network_namespace.h"
#include "provider/devices/sysfs_tree.h"

namespace urxe {

/// The directory that holds this user's trees, made if need be: $XDG_RUNTIME_DIR/urxe, else
/// /dev/shm/urxe-<uid>, else /tmp/urxe-<uid>. It is a real directory that belongs to the user and
/// to which nobody else has access. The error is a sentence for the user.
Expected<std::string, std::string> open_runtime_directory();

/// Writes the tree below `runtime_directory` and returns its path. A tree of an earlier run in the
/// same network namespace that differs at most in its state is used again. A tree appears whole or
/// not at all, so any number of processes may do this at once.
Expected<std::string, std::string> publish_tree(const std::string& runtime_directory,
                                                const NetworkNamespace& netns, TreeContent content);

/// Removes trees that are not used any more: those of a network namespace that is gone and whose
/// number `netns` has now; those that are in no process's environment and were last published a
/// week ago, or an hour ago if they are another namespace's; and files that a killed publisher has
/// left. Trees that may be used by processes that /proc does not show stay. Failures are ignored.
void remove_stale_trees(const std::string& runtime_directory, const NetworkNamespace& netns);

}  // namespace urxe
