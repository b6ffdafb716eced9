// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstddef>
#include <cstdint>

#include "packet/wire/cm/cm_message.h"
#include "provider/cm/addresses/path_record.h"
#include "provider/cm/files/user_cm.h"

namespace urxe::cm {

/// The event types of librdmacm: enum rdma_cm_event_type, whose header conflicts with that of the
/// ABI.
enum class EventType : uint32_t {
  kAddressResolved,
  kAddressError,
  kRouteResolved,
  kRouteError,
  kConnectRequest,
  kConnectResponse,
  kConnectError,
  kUnreachable,
  kRejected,
  kEstablished,
  kDisconnected,
  kDeviceRemoval,
  kMulticastJoin,
  kMulticastError,
  kAddressChange,
  kTimeWaitExit,
  kUser = 18,      ///< an application's own
  kInternal = 19,  ///< librdmacm's own
};

// Events as librdmacm reads them, made of the peer's messages. The private data has the full length
// of the message's field, because the receiver cannot tell how much of it the sender has filled.

/// An event without parameters. `status`: 0, a negative errno value, or the peer's reason.
rdma_ucm_event_resp plain_event(EventType type, int status = 0);

/// CONNECT_REQUEST. `header`: bytes at the start of the private data that are not the peer's.
rdma_ucm_event_resp connect_request(const CmReq& request, size_t header);
/// CONNECT_REQUEST of a datagram service.
rdma_ucm_event_resp service_request(const CmSidrReq& request, size_t header);
/// CONNECT_RESPONSE. The peer's resources are reported as this end sees them: its initiator depth
/// is the bound of our responder resources.
rdma_ucm_event_resp connect_response(const CmRep& reply);
/// REJECTED.
rdma_ucm_event_resp rejected(const CmRej& rejection);
/// ESTABLISHED, or UNREACHABLE with the peer's status, of a datagram service.
rdma_ucm_event_resp service_reply(const CmSidrRep& reply, const Path& path, uint8_t port,
                                  uint8_t gid_index);
/// MULTICAST_JOIN.
rdma_ucm_event_resp multicast_join(const Gid& group, QKey qkey, uint8_t port, uint8_t gid_index,
                                   uint8_t hop_limit, uint8_t traffic_class);

/// The queue pair type that a REQ is for.
ibv_qp_type qp_type_of(const CmReq& request);

}  // namespace urxe::cm
