// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/headers.h"
#include "transport/observation/error_cause.h"
#include "transport/queue_pair/queue_pair.h"
#include "transport/responder/note_refusal.h"

namespace urxe {

// Requests that the responder of RC and XRC refuses: a NAK, a note of the cause, and the end of the
// connection (refuse()).

/// What became of a request: it was executed, or will be answered otherwise (NAK, RNR NAK), or
/// later.
enum class Verdict : uint8_t { kExecuted, kAnswered };

/// The receive work queue element cannot take the request: both fail.
Verdict refuse_receive(ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                       ibv_wc_status status, NakCode code);

/// The queue pair does not take this operation, or not in this place.
Verdict refuse_operation(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, Check check);

/// A packet with an opcode that the specification reserves. It is an invalid request if it has the
/// expected PSN (9.7.4.1.3), and is ignored otherwise.
void refuse_reserved_opcode(ChannelAdapter& ca, QueuePair& qp, const Headers& headers);

/// The request's length, alignment, or number of READs and atomics is wrong.
Verdict refuse_request(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, Check check);

/// The request's key or bounds are wrong.
Verdict refuse_access(ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                      const RemoteRange& range, int access);

/// The WRITE's key or bounds are wrong, for its next `bytes`. With immediate data it has taken a
/// receive, whose completion tells of it (11.6.2, local access error).
Verdict refuse_write_key(ChannelAdapter& ca, QueuePair& qp, const Headers& headers, uint64_t bytes);

/// What was wrong with an atomic, and the right that it needs.
struct AtomicFault {
  NakCode code;
  int access;
};
Verdict refuse_atomic(ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                      const RemoteRange& range, const AtomicFault& fault);

}  // namespace urxe
