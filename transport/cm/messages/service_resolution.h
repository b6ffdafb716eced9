// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// SIDR: service id resolution for unreliable datagrams (IBTA vol. 1, 12.11).

/// Answers a SIDR_REQ that no listener matches with a SIDR_REP, status unsupported.
MadFate receive_sidr_req(CmCore& core, const CmSidrReq& request, const MadContext& context);
MadFate receive_sidr_rep(CmCore& core, const CmSidrRep& reply, const MadContext& context);

void refuse_service(CmCore& core, Communication& c, CmSidrStatus status);

}  // namespace urxe
