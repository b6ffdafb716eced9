// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/ethernet/frame_batch.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

/// Sends up to `budget` frames of a queue pair for raw packets. An element is one Ethernet frame,
/// with its header; it completes once the batch has it. One that cannot be sent moves the queue
/// pair to SQE, as for UD.
Turn transmit_frames(ChannelAdapter& ca, QueuePair& qp, FrameBatch& batch, Instant now,
                     uint32_t budget);

}  // namespace urxe
