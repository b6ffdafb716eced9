// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tools/analyze/report_object.h"

namespace urxe::analyze {

/// The course of a direction over time, for the page. Lists of numbers are flat: so many for each
/// point. `start_ns` is subtracted from all times. At most `most_points` points for each plot.
Json trace_json(const RequestFlow& flow, int64_t start_ns, size_t most_points);

}  // namespace urxe::analyze
