// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "packet/base/time.h"

namespace urxe::doctor {

/// What became of a child.
struct ChildResult {
  int start_error = 0;     ///< errno; not 0: it could not be started, and the rest says nothing
  bool timed_out = false;  ///< it was ended
  int status = 0;          ///< as waitpid(2) has it
  std::string out;         ///< stdout; the first 4 MiB
  std::string err;         ///< stderr; the same

  /// Whether it ended by itself with the status 0.
  [[nodiscard]] bool succeeded() const { return start_error == 0 && !timed_out && status == 0; }
};

/// Runs a command, found as execvp() does, in this process's environment and without input. After
/// `limit` it is killed with the programs that it has started.
ChildResult run_child(const std::vector<std::string>& command, Duration limit);

/// Called in a child: prints a line for the parent and flushes it, in case the child crashes later.
void tell_parent(const std::string& line);

}  // namespace urxe::doctor
