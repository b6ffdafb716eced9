// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>

#include "provider/observation/report_names.h"

namespace urxe::stat {

/// A queue pair number: "0x012a3b". PSNs are decimal.
std::string qpn_name(uint32_t qpn);
constexpr double to_seconds(int64_t ns) {
  return static_cast<double>(ns) / 1e9;
}
/// Without what a terminal would act on.
std::string printable(std::string text);

}  // namespace urxe::stat
