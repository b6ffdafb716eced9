// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace urxe::stat {

/// The time of day in this time zone: "2026-11-25T01:24:02+0100".
std::string wall_time();

}  // namespace urxe::stat
