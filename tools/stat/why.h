// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "provider/observation/stat_reader.h"

namespace urxe::stat {

/// Some lines on what ended the queue pair, and what to look at. One line if nothing did.
std::string explain(const DeviceObservation& device, const QpReport& report);
std::string explain(const EndedQueuePair& ended);

}  // namespace urxe::stat
