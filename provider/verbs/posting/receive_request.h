// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "transport/queues/work_queue.h"

namespace urxe {

/// Posts a chain of receives up to the first that is refused; `wr` is that one then, else null.
/// Returns 0, EINVAL (its list is too long) or ENOMEM (the queue is full). The caller holds the
/// poster's lock.
int post_receives(ReceiveQueue& queue, ibv_recv_wr*& wr);

}  // namespace urxe
