// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

#include "provider/observation/stat_reader.h"

namespace urxe::stat {

/// An object on one line; its names are in urxe-stat(1).
std::string json_report(const Observation& seen);

/// The text format that Prometheus scrapes, version 0.0.4; the names are in urxe-stat(1).
std::string prometheus_report(const Observation& seen);

}  // namespace urxe::stat
