// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// The queue pair's states and attributes (IBTA vol. 1, 10.3; ibv_modify_qp(3)).

/// Whether a queue pair in the state takes requests.
constexpr bool receives_in(ibv_qp_state state) {
  return state == IBV_QPS_RTR || state == IBV_QPS_RTS || state == IBV_QPS_SQD ||
         state == IBV_QPS_SQE;
}

/// The attributes that a transition needs, and those that it also allows (ibv_qp_attr_mask).
struct TransitionMasks {
  bool legal = false;
  int required = 0;
  int optional = 0;
};
/// `mask` without the attributes that a queue pair of the type ignores: an XRC initiator has no
/// responder, a target no requester.
int without_ignored(ibv_qp_type type, int mask);

TransitionMasks transition_masks(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to);

/// Checks `attr` and makes the change. EINVAL, and nothing changes: it is not allowed.
Expected<void, Errno> modify(ChannelAdapter& ca, QueuePair& qp, const ibv_qp_attr& attr, int mask,
                             Instant now);

/// Moves the queue pair to RESET: empties the queues, forgets the protocol state, and drops the
/// completions that were not polled. No poller of the completion queues may be active.
void reset(ChannelAdapter& ca, QueuePair& qp);

}  // namespace urxe
