// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "tests/interop/replay/adapter.h"
#include "tests/interop/replay/side_plan.h"

namespace urxe::replay {

/// The queues of one queue pair under test.
struct QueuePairQueues {
  QueuePair* qp = nullptr;
  CompletionQueue* sends = nullptr;
  CompletionQueue* receives = nullptr;
  SharedReceiveQueue* shared = nullptr;  ///< where the capture says so
};

/// Makes the queue pair, with the recorded number, and brings it to RTS with the attributes that
/// the recording shows: PSNs, path MTU, retry counts, RNR timer, rights.
QueuePairQueues set_up(Adapter& adapter, const QueuePairPlan& plan, const CaptureRow& row);

}  // namespace urxe::replay
