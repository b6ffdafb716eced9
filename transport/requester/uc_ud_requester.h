// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/tx_batch.h"
#include "transport/queue_pair/queue_pair.h"
#include "transport/requester/requester.h"

namespace urxe {

// The requesters of the two unreliable services, UC and UD (IBTA vol. 1, 9.8.2.1, 9.8.3.1). Nothing
// is acknowledged, so a work queue element completes once its last packet has been handed to the
// batch. An element that cannot be carried out moves the queue pair to SQE.

/// Sends up to `budget` packets of a UC or UD queue pair.
Turn transmit_uc_ud_requests(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch, Instant now,
                             uint32_t budget);

}  // namespace urxe
