// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "provider/observation/stat_reader.h"

namespace urxe::stat {

/// Which queue pairs the user wants to see: all, if nothing is set.
struct Selection {
  std::optional<uint32_t> pid;
  std::optional<std::string> device;
  std::optional<uint32_t> qpn;
  [[nodiscard]] bool is_all() const { return !pid && !device && !qpn; }
};

/// Leaves only what is selected. Processes of which nothing is left go, too, unless all is wanted.
void select(Observation& seen, const Selection& selection);

}  // namespace urxe::stat
