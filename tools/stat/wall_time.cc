// SPDX-License-Identifier: BSD-2-Clause
#include "tools/stat/wall_time.h"

#include <ctime>

namespace urxe::stat {

std::string wall_time() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  localtime_r(&now, &parts);
  char text[64];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S%z", &parts)};
}

}  // namespace urxe::stat
