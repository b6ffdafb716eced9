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

/// As the user wrote it: "--pid 5, --device urxe_eth0".
std::string describe(const Selection& selection);

/// Removes everything that is not selected. With `qpn`, devices without that queue pair go, too.
void select(Observation& seen, const Selection& selection);

}  // namespace urxe::stat
