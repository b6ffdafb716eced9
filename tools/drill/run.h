// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/drill/packet_fields.h"
#include "tools/drill/script.h"
#include "tools/drill/stage.h"

namespace urxe::drill {

/// Where a script failed.
struct Failure {
  int line = 0;
  std::string expected;
  std::string came;
  std::vector<Difference> fields;
  bool is_skipped = false;  ///< not failed: the stage cannot do the line, and `came` says why
};

/// Runs a script on a stage of its own. Empty: all went as it says. What a stage throws passes
/// through.
std::optional<Failure> run_script(const Script& script, Stage& stage);

/// Runs a script against the transport, in virtual time.
std::optional<Failure> run_script(const Script& script);

}  // namespace urxe::drill
