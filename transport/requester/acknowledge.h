// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Steps of the completer (completer.h): the oldest packets in flight are acknowledged.

/// Advances the oldest unacknowledged PSN by `packets`, which lie in the oldest element; completes
/// the element at its end. The point of transmission advances at least as far.
void advance_oldest(ChannelAdapter& ca, QueuePair& qp, uint32_t packets);

/// Acknowledges the oldest `count` outstanding packets. Stops before a READ or atomic, which only
/// its own response completes. Returns how many it has acknowledged.
uint32_t acknowledge(ChannelAdapter& ca, QueuePair& qp, uint32_t count);

}  // namespace urxe
