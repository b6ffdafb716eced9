// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <span>

#include "transport/device/channel_adapter.h"
#include "transport/observation/error_cause.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Notes of what ends a queue pair, or troubles it. Of an end the first note since RESET, or since
// it left SQE, counts; of troubles the last one does.

inline bool has_cause(const QueuePair& qp) {
  return qp.error_cause.reason != ErrorReason::kNone;
}

void note_cause(QueuePair& qp, const ErrorCause& cause);

/// The queue pair goes to ERR or SQE: adds to what was noted when this was, and with which peer.
void note_circumstances(ChannelAdapter& ca, QueuePair& qp);

/// The queue pair goes on after this, which becomes its last trouble.
void note_trouble(const ChannelAdapter& ca, QueuePair& qp, const ErrorCause& cause);

/// The queue pair leaves the state: a failure becomes its last error.
void note_recovery(QueuePair& qp);

/// The oldest send work queue element completes with `status`. Adds this to what was noted of the
/// same failure.
void note_failed_send(const ChannelAdapter& ca, QueuePair& qp, ibv_wc_status status);

/// Adds to `cause` the first element of the list that may not be accessed, and the check that it
/// fails.
void explain_list(const ChannelAdapter& ca, PdId pd, std::span<const Sge> list, bool write,
                  ErrorCause& cause);

}  // namespace urxe
