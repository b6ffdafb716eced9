// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "provider/devices/network_namespace.h"
#include "provider/devices/sysfs_tree.h"

namespace urxe {

/// Writes the tree below `runtime_directory` and returns its path. A tree of an earlier run in the
/// same network namespace that differs at most in its state is used again. A tree appears whole or
/// not at all, so any number of processes may do this at once.
Expected<std::string, std::string> publish_tree(const std::string& runtime_directory,
                                                const NetworkNamespace& netns, TreeContent content);

/// The directories in which to look for the user's directory that holds the trees: $XDG_RUNTIME_DIR
/// first, then as user_directory_places().
std::vector<std::string> runtime_directory_places();

/// The tree that publish_tree_in() would use again; none: it would write one.
std::optional<std::string> find_tree_in(const std::vector<std::string>& places,
                                        const NetworkNamespace& netns, TreeContent content);

/// publish_tree() in the user's directory in the first of `places` that has room for the tree;
/// remove_leftovers() and remove_stale_trees() in those of all places. The error is a sentence for
/// the user, with all reasons.
Expected<std::string, std::string> publish_tree_in(const std::vector<std::string>& places,
                                                   const NetworkNamespace& netns,
                                                   const TreeContent& content);

}  // namespace urxe
