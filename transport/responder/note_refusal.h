// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/wire/aeth_syndrome.h"
#include "packet/wire/headers.h"
#include "transport/device/channel_adapter.h"
#include "transport/observation/error_cause.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Notes of why a responder ends the connection, or does not execute a request (see note_cause()).

/// The memory of the receive that the queue pair holds could not be written.
void note_failed_receive(const ChannelAdapter& ca, QueuePair& qp);

/// A key in the request may not be invalidated.
void note_failed_invalidate(QueuePair& qp, RKey key);

/// The request is answered with a NAK, because `check` failed.
void note_refusal(QueuePair& qp, const Headers& headers, NakCode code, Check check);

/// The receive that the queue pair holds fails with the request that was just noted.
void note_refused_receive(QueuePair& qp, ibv_wc_status status);

/// A range of memory that a peer has named.
struct RemoteRange {
  RKey rkey;
  uint64_t va = 0;
  uint64_t length = 0;
};

/// As note_refusal(), for a range that may not be accessed; finds out why.
void note_refused_access(const ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                         const RemoteRange& range, int access);

/// A request of RC or XRC has found no receive, and is answered with this AETH syndrome.
void note_no_receive(const ChannelAdapter& ca, QueuePair& qp, uint8_t syndrome);

/// Requests are missing before one that has come.
void note_gap(const ChannelAdapter& ca, QueuePair& qp);

/// A message of UC or UD is dropped. `check` kNone: there is no receive for it.
void note_dropped(const ChannelAdapter& ca, QueuePair& qp, const Headers& headers, Check check);

/// The same, for a range of memory that may not be written.
void note_dropped_write(const ChannelAdapter& ca, QueuePair& qp, const Headers& headers,
                        const RemoteRange& range);

}  // namespace urxe
