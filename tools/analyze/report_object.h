// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json.hpp>

#include "tools/analyze/analysis.h"

namespace urxe::analyze {

using Json = nlohmann::ordered_json;

/// What json_report() prints. Its connections are those of list_connections(), in that order, and
/// their first direction is `forth`.
Json report_object(const Analysis& analysis);

}  // namespace urxe::analyze
