// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/cm/cm_core.h"

namespace urxe {

// MRA, "message receipt acknowledged" (IBTA vol. 1, 12.6.6): one side asks the other to wait.

MadFate receive_mra(CmCore& core, const CmMra& mra, const MadContext& context);

void send_mra(CmCore& core, Communication& c, CmAnswered answered, uint8_t service_timeout,
              std::span<const uint8_t> private_data, uint64_t transaction_id);

}  // namespace urxe
