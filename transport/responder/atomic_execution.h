// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/expected.h"
#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/roce_packet.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// The memory accesses of atomic requests. Each needs room for a resource, which keeps its answer.
// Errors are the code of the NAK.

/// CmpSwap and FetchAdd (IBTA vol. 1, 9.4.5): returns the value that was there before.
Expected<uint64_t, NakCode> modify_atomically(ChannelAdapter& ca, QueuePair& qp,
                                              const Headers& headers);

/// ATOMIC WRITE (annex A19): stores 8 bytes at once. Needs the right to write.
Expected<void, NakCode> write_atomically(ChannelAdapter& ca, QueuePair& qp,
                                         const PacketView& packet);

}  // namespace urxe
