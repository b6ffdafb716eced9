// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// LAP and APR: loading an alternate path for an established connection (IBTA vol. 1, 12.8, 12.9.8).

MadFate receive_lap(CmCore& core, const CmLap& lap, const MadContext& context);
MadFate receive_apr(CmCore& core, const CmApr& apr, const MadContext& context);

/// The last retry of the LAP was not answered.
void time_out_alternate_path(CmCore& core, Communication& c);

}  // namespace urxe
