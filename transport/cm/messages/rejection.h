// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// REJ (IBTA vol. 1, 12.6.7).

MadFate receive_rej(CmCore& core, const CmRej& rej, const MadContext& context);

/// Sends the REJ that fits the state of the communication. Does not change the state.
void send_rej(CmCore& core, Communication& c, CmRejectReason reason, std::span<const uint8_t> info,
              std::span<const uint8_t> private_data);
/// Sends a REJ with reason timeout. It names the communication by our channel adapter and our id,
/// because the peer may know nothing else.
void send_rej_timeout(CmCore& core, Communication& c);
/// Rejects a message that belongs to no communication, as CmCore::send_unowned().
MadFate answer_rej(CmCore& core, const MadContext& context, CmAnswered rejected,
                   CmRejectReason reason, CommId local_id, CommId remote_id);

}  // namespace urxe
