// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// The passive side of a connection, which is asked for it (IBTA vol. 1, 12.9.6).

/// Answers a REQ that no listener matches with REJ, reason invalid service id.
MadFate receive_req(CmCore& core, const CmReq& req, const MadContext& context);
MadFate receive_rtu(CmCore& core, const CmRtu& rtu, const MadContext& context);

}  // namespace urxe
