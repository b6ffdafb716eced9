// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "transport/device/channel_adapter.h"
#include "transport/observation/error_cause.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Notes of answers with a NAK (see note_cause()).

/// The queue pair ends for an answer with this AETH syndrome.
void note_answer(QueuePair& qp, ErrorReason reason, uint8_t syndrome);

/// The answer was dealt with. Notes it, unless that has ended the queue pair.
void note_survived(const ChannelAdapter& ca, QueuePair& qp, ErrorReason reason, uint8_t syndrome);

/// An ACK timeout, likewise.
void note_survived_timeout(const ChannelAdapter& ca, QueuePair& qp);

/// An implied NAK, likewise: the oldest request, a READ or atomic, lacks a response.
void note_missing_response(const ChannelAdapter& ca, QueuePair& qp);

}  // namespace urxe
