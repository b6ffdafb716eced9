// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/ethernet/ethernet_frame.h"
#include "packet/wire/ethernet/rx_frame.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

/// Gives a queue pair for raw packets a frame: fills the oldest receive work queue element and
/// completes it. An element that is too short completes with IBV_WC_LOC_LEN_ERR, and the queue pair
/// goes on, as mlx5's do: else a neighbour's long frame would end it. Without an element the frame
/// is dropped. `checksums_are_right`: IBV_WC_IP_CSUM_OK.
void receive_frame(ChannelAdapter& ca, QueuePair& qp, const RxFrame& frame,
                   bool checksums_are_right);

}  // namespace urxe
