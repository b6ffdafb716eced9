// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tools/stat/selection.h"

namespace urxe {

/// The options of `urxe stat`.
struct StatOptions {
  stat::Selection selection;
  std::optional<std::string> qp;   ///< a number as the user wrote it
  std::optional<double> interval;  ///< seconds between reports
  std::optional<uint32_t> count;   ///< of reports
  bool all_namespaces = false;
  std::vector<std::string> other_nodes;  ///< places to look at, too, with `all_namespaces`
  bool why = false;
  bool wide = false;
  bool cq = false;
  std::optional<std::string> by;  ///< "process" or "device"
  bool json = false;
  bool prometheus = false;
};

/// `urxe stat`: prints what the user's processes tell of their queue pairs. Returns the exit
/// status: 1 if --why found a queue pair that failed, or if nothing is what was selected, or the
/// selected process has ended; 125 if it cannot be printed.
int stat_command(StatOptions options);

}  // namespace urxe
