// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tools/stat/selection.h"

namespace urxe {

/// The options of `urxe top`.
struct TopOptions {
  stat::Selection selection;
  double interval = 1;  ///< seconds between looks
  bool all_namespaces = false;
};

/// `urxe top`: the queue pairs of the user's processes on the terminal, until the user ends it.
/// Returns the exit status.
int top_command(const TopOptions& options);

}  // namespace urxe
