// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "tools/stat/selection.h"

namespace urxe {

/// The options of `urxe top`.
struct TopOptions {
  stat::Selection selection;
  double interval = 1;  ///< seconds between looks
  bool all_namespaces = false;
  std::vector<std::string> other_nodes;  ///< places to look at, too, with `all_namespaces`
};

/// `urxe top`: the queue pairs of the user's processes on the terminal, until the user ends it.
/// Returns the exit status.
int top_command(const TopOptions& options);

}  // namespace urxe
