// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"
#include "packet/wire/cm/cm_message.h"
#include "provider/cm/files/user_cm.h"
#include "provider/cm/ids/cm_id.h"

namespace urxe::cm {

// Makes a connection's messages of an id and the application's parameters, and takes the parameters
// of the peer's messages into the id. Needs no lock but the service's, for the id.

/// CM response timeout of both ends, 4.096 us * 2^n: a second, which is long enough for a process
/// that waits for a processor. With the retries a connect to a dead peer fails after half a minute;
/// with Linux's value, 20, it takes more than a minute.
inline constexpr uint8_t kCmResponseTimeout = 18;
inline constexpr uint8_t kMaxCmRetries = 15;
/// The life time of a RoCE packet as in Linux, 4.096 us * 2^n: a quarter second.
inline constexpr uint8_t kPacketLifetime = 16;
/// The Q_Key of datagram services, unless the application sets another.
inline constexpr QKey kUdpQKey{0x01234567};

/// The local ACK timeout of a connection with an end whose ACK delay is `ack_delay`, both
/// 4.096 us * 2^n: the value of the option, else by IBTA vol. 1, 12.7.34.
uint8_t ack_timeout_of(const CmId& id, uint8_t ack_delay);

/// EINVAL: more private data than the message has room for.
Expected<CmReq, Errno> make_request(const CmId& id, const rdma_ucm_conn_param& parameters,
                                    const rdma_ucm_ece& ece);
Expected<CmRep, Errno> make_reply(const CmId& id, const rdma_ucm_conn_param& parameters,
                                  const rdma_ucm_ece& ece);
Expected<CmSidrReq, Errno> make_service_request(const CmId& id,
                                                const rdma_ucm_conn_param& parameters);

/// Takes the parameters of the REQ that the id has sent or received.
void take_sent_request(CmId& id, const CmReq& request);
void take_received_request(CmId& id, const CmReq& request);
/// Takes the parameters of the REP.
void take_sent_reply(CmId& id, const CmRep& reply);
void take_reply(CmId& id, const CmRep& reply);

/// Sets the Q_Key of a datagram service. 0 leaves the id's, or else sets kUdpQKey. EINVAL: the id
/// has another one.
Expected<void, Errno> set_qkey(CmId& id, QKey qkey);
/// The event for a SIDR_REP: ESTABLISHED, UNREACHABLE, or ADDR_ERROR if the peer's Q_Key is not the
/// id's.
rdma_ucm_event_resp take_service_reply(CmId& id, const CmSidrRep& reply);

}  // namespace urxe::cm
