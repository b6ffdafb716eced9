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

/// Writes the tree below `runtime_directory`, or finds the same one there from an earlier run of
/// the same network namespace, where the state may be another one; returns its path. It appears
/// whole or not at all, so any number of processes may do this at once.
Expected<std::string, std::string> publish_tree(const std::string& runtime_directory,
                                                const NetworkNamespace& netns, TreeContent content);

/// Removes trees that nobody can use any more: those of a network namespace that is gone and whose
/// number `netns` has now; those that no process has in its environment and that have not been
/// published for a week, or for an hour where they are another namespace's; and what a killed
/// publisher left behind. Leaves alone what processes may use that /proc does not show. Failures
/// are ignored.
void remove_stale_trees(const std::string& runtime_directory, const NetworkNamespace& netns);

}  // namespace urxe
