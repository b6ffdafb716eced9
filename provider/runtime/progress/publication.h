// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "provider/observation/stat_writer.h"
#include "provider/runtime/progress/counter_table.h"

namespace urxe {

/// What a running device, or one lane of it, tells others of itself.
struct Publication {
  CounterTable counters;
  StatWriter reports;
  std::string device;     ///< its name
  bool explains = false;  ///< says on stderr why queue pairs have failed
};

}  // namespace urxe
