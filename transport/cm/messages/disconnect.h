// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// DREQ and DREP, the end of a connection (IBTA vol. 1, 12.6.10 and 12.6.11).

MadFate receive_dreq(CmCore& core, const CmDreq& dreq, const MadContext& context);
MadFate receive_drep(CmCore& core, const CmDrep& drep, const MadContext& context);

void send_dreq(CmCore& core, Communication& c, std::span<const uint8_t> private_data, Instant now);
void send_drep(CmCore& core, Communication& c, std::span<const uint8_t> private_data);

/// A REQ or REP names a queue pair of the peer that belongs to another connection here. Either that
/// connection is stale (IBTA vol. 1, 12.9.8.3.1), or another user of the peer's host has sent the
/// message. If the peer can be asked (probe.h), its answer decides. If not, the connection ends if
/// the message came from the port that the peer's REQ or REP came from.
void suspect_stale(CmCore& core, Communication& stale, const MadContext& context);

}  // namespace urxe
