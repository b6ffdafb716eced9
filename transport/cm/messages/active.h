// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// The active side of a connection, which asks for it (IBTA vol. 1, 12.9.5).

MadFate receive_rep(CmCore& core, const CmRep& rep, const MadContext& context);

}  // namespace urxe
