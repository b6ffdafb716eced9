// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <rdma/rdma_user_cm.h>

#include <cstdint>

#include "packet/base/expected.h"
#include "packet/wire/cm_message.h"
#include "provider/cm/ids/cm_id.h"

namespace urxe::cm {

// The messages of a connection: made of an id and what the application asks for, and what is learnt
// from the peer's. Nothing here needs a lock but the id's.

/// 4.096 us * 2^n: how long the peer may take to answer, and we: a second, which is much for
/// processes that wait for a processor. With the retries nobody waits for longer than half a
/// minute; Linux has 20, and lets one wait for a peer that is gone for more than a minute.
inline constexpr uint8_t kCmResponseTimeout = 18;
inline constexpr uint8_t kMaxCmRetries = 15;
/// As Linux has it for RoCE, whose packets live for this long at most (2^16: a quarter second).
inline constexpr uint8_t kPacketLifetime = 16;
/// Of datagram services, unless the application has another.
inline constexpr QKey kUdpQKey{0x01234567};

/// The local ACK timeout of an id's connections with an end that takes `ack_delay` to answer, both
/// 4.096 us * 2^n: the option's, else IBTA vol. 1, 12.7.34.
uint8_t ack_timeout_of(const CmId& id, uint8_t ack_delay);

/// EINVAL: more private data than the message has room for.
Expected<CmReq, Errno> make_request(const CmId& id, const rdma_ucm_conn_param& parameters,
                                    const rdma_ucm_ece& ece);
Expected<CmRep, Errno> make_reply(const CmId& id, const rdma_ucm_conn_param& parameters,
                                  const rdma_ucm_ece& ece);
Expected<CmSidrReq, Errno> make_service_request(const CmId& id,
                                                const rdma_ucm_conn_param& parameters);

/// What a connection is from its REQ on: sent by the id, or received for it.
void take_sent_request(CmId& id, const CmReq& request);
void take_received_request(CmId& id, const CmReq& request);
/// What the REP has settled.
void take_sent_reply(CmId& id, const CmRep& reply);
void take_reply(CmId& id, const CmRep& reply);

/// The Q_Key of a datagram service: `qkey`, 0: the id's, or the port space's. EINVAL: the id has
/// another.
Expected<void, Errno> set_qkey(CmId& id, QKey qkey);
/// ESTABLISHED, UNREACHABLE, or ADDR_ERROR where the peer's Q_Key is not the id's.
rdma_ucm_event_resp take_service_reply(CmId& id, const CmSidrRep& reply);

}  // namespace urxe::cm
