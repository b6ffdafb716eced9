// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "provider/observation/stat_reader.h"

namespace urxe::stat {

/// Whether something went wrong with the queue pair, other than by the application's will.
bool has_failed(const QpReport& report);

/// Some lines on what ended the queue pair, and what to look at. One line if nothing did.
std::string explain(const DeviceObservation& device, const QpReport& report);

}  // namespace urxe::stat
