// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// DREQ and DREP, the end of a connection (IBTA vol. 1, 12.6.10 and 12.6.11).

MadFate receive_dreq(CmCore& core, const CmDreq& dreq, const MadContext& context);
MadFate receive_drep(CmCore& core, const CmDrep& drep, const MadContext& context);

void send_dreq(CmCore& core, Communication& c, std::span<const uint8_t> private_data, Instant now);
void send_drep(CmCore& core, Communication& c, std::span<const uint8_t> private_data);

/// A REQ or REP names a queue pair of the peer that belongs to another connection here. That
/// connection is stale: ends it.
void end_stale(CmCore& core, Communication& stale, Instant now);

}  // namespace urxe
