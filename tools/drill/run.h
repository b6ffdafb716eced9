// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tools/drill/packet_fields.h"
#include "tools/drill/script.h"

namespace urxe::drill {

/// Where a script failed.
struct Failure {
  int line = 0;
  std::string expected;
  std::string came;
  std::vector<Difference> fields;
};

/// Runs a script against a device of its own, in virtual time. Empty: all went as it says.
std::optional<Failure> run_script(const Script& script);

}  // namespace urxe::drill
