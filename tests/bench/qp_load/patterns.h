// SPDX-License-Identifier: BSD-2-Clause
// What the two processes do once they are connected. Each pattern ends with a line of JSON, printed
// by the process that writes.
#pragma once

#include "tests/bench/qp_load/side.h"

namespace bench {

void write_on_all(Side& side);
/// Until the writer meets us.
void be_written_to(Side& side);

void ping_pong(Side& side, bool starts);

void stay_idle(Side& side, bool prints);

/// Without another process.
void write_within(const Options& options);

}  // namespace bench
