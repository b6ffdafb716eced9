// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <optional>

#include "packet/wire/gid.h"
#include "packet/wire/psn.h"
#include "packet/wire/types.h"

namespace urxe::cm {

inline constexpr uint8_t kLongestAckTimeout = 31;  ///< a field of 5 bits

/// The path that a connection may migrate to.
struct AlternatePath {
  uint8_t port = 1;
  uint8_t gid_index = 0;
  uint16_t pkey_index = 0;
  Gid remote;
  uint32_t flow_label = 0;
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 64;
  uint8_t sl = 0;
  uint8_t static_rate = 0;
  uint8_t ack_timeout = 0;
};

/// The parameters of a connection as this end sees them, from REQ and REP.
struct ConnectionParameters {
  ibv_qp_type qp_type = IBV_QPT_RC;  ///< RC, UC, XRC_SEND (active), XRC_RECV (passive), UD
  uint8_t port = 1;
  uint8_t gid_index = 0;
  uint16_t pkey_index = 0;
  Gid remote;
  uint32_t flow_label = 0;
  uint8_t traffic_class = 0;
  uint8_t hop_limit = 64;
  uint8_t sl = 0;
  uint8_t static_rate = 0;
  ibv_mtu path_mtu = IBV_MTU_1024;
  uint8_t ack_timeout = 0;
  bool is_requested = false;  ///< a REQ was sent or received
  Qpn remote_qpn;             ///< 0: not known yet
  Psn local_psn;              ///< sq_psn
  Psn remote_psn;             ///< rq_psn
  uint8_t responder_resources = 0;
  uint8_t initiator_depth = 0;
  uint8_t retry_count = 0;
  uint8_t rnr_retry_count = 0;
  uint8_t min_rnr_timer = 0;
  QKey qkey;  ///< UD
  std::optional<AlternatePath> alternate;
  bool alternate_refused = false;  ///< the peer's REQ names an alternate path, which nobody loads
};

}  // namespace urxe::cm
