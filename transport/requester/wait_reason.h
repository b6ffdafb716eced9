// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "transport/observation/qp_report.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

/// What the send queue waits for. Changes nothing.
WaitReason wait_reason(const ChannelAdapter& ca, QueuePair& qp);

}  // namespace urxe
