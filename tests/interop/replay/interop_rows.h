// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "tests/interop/replay/capture_table.h"

namespace urxe::replay {

/// The part of the capture table about pcap_samples/interop/.
std::vector<CaptureRow> interop_rows();

}  // namespace urxe::replay
