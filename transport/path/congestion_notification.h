// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "packet/base/time.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/tx_batch.h"
#include "transport/queue_pair/queue_pair.h"

namespace urxe {

// Congestion notification packets (IBTA annex A17.9). A switch marks a packet instead of dropping
// it (ECN, "congestion experienced"). The receiver sends a notification to the packet's sender,
// which then slows the path down.

/// How often a queue pair sends notifications, at most.
inline constexpr Duration kNotificationInterval = microseconds(50);

/// Whether a switch has marked the packet.
bool is_marked(const Flow& flow);

/// The queue pair has received a marked packet of its peer: owes a notification, unless it has sent
/// one lately. Datagrams draw none: their senders have no path to slow down, and anyone can
/// send them with another host's address.
void owe_notification(ChannelAdapter& ca, QueuePair& qp, Instant now);

/// Sends the notification that is owed, if one is. False: the batch is full.
[[nodiscard]] bool send_notification(ChannelAdapter& ca, QueuePair& qp, TxBatch& batch);

/// A notification has come. `qp`: the queue pair that it is for; nullptr if there is none.
void receive_notification(ChannelAdapter& ca, QueuePair* qp, const Flow& flow, Instant now);

}  // namespace urxe
