// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "tools/drill/script.h"

namespace urxe::drill {

struct NamedScript {
  std::string path;
  Script script;
};

/// Why a script cannot be run.
struct ScriptError {
  std::string path;
  int line = 0;  ///< 0: the file cannot be read
  int column = 0;
  std::string what;
};

/// All scripts that the arguments name, which are files or folders of *.drill, in order; or the
/// first error.
Expected<std::vector<NamedScript>, ScriptError> read_scripts(
    const std::vector<std::string>& arguments);

}  // namespace urxe::drill
