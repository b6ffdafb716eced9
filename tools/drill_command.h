// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace urxe {

/// The options of `urxe drill`.
struct DrillOptions {
  std::vector<std::string> scripts;  ///< files, or folders of *.drill
  bool verbose = false;              ///< a line for each script that passes, too
  bool json = false;
};

/// `urxe drill`: runs packet scripts against the transport. Returns the exit status: 1 if a script
/// failed, 2 if one cannot be read or is wrong.
int drill_command(const DrillOptions& options);

}  // namespace urxe
