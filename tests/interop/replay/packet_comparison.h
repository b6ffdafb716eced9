// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/interop/replay/frame.h"
#include "tests/interop/replay/ledger.h"

namespace urxe::replay {

/// Compares two packets of one kind and PSN (alignment.h) field by field, and in the end byte by
/// byte but for the ICRC, which covers what may differ. What differs goes into the ledger.
void compare_packets(const Frame& ours, const Frame& recorded, Ledger& ledger);

}  // namespace urxe::replay
