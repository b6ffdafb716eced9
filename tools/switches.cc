// SPDX-License-Identifier: BSD-2-Clause
#include "tools/switches.h"

#include <fmt/format.h>

#include <cstdlib>

namespace urxe {

std::vector<std::string> drop_unknown_switches() {
  std::vector<std::string> said;
  for (const char* const name : {"URXE_SHM", "URXE_STAT", "URXE_EXPLAIN"}) {
    const char* const set = std::getenv(name);
    const std::string value = set != nullptr ? set : "";
    if (value.empty() || value == "0" || value == "1") continue;
    said.push_back(fmt::format("{} is ignored: '{}': accepted are 0 and 1", name, value));
    unsetenv(name);
  }
  return said;
}

}  // namespace urxe
