// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "packet/base/time.h"
#include "packet/wire/cm/cm_message.h"
#include "provider/cm/addresses/address_resolution.h"
#include "provider/cm/addresses/addresses.h"
#include "provider/cm/addresses/path_record.h"
#include "provider/cm/files/cm_file.h"
#include "provider/cm/ids/backlog.h"
#include "provider/cm/ids/connection_parameters.h"
#include "provider/cm/ports/port_claim.h"
#include "provider/observation/cm_id_report.h"

namespace urxe::cm {

struct DeviceUse;

/// The state of an id. As in Linux's RDMA CM, each call needs one of certain states.
enum class IdState : uint8_t {
  kIdle,
  kBound,
  kAddressQuery,
  kAddressResolved,
  kRouteResolved,
  kConnect,     ///< from rdma_connect(), or from the request on, to the end of the connection
  kDisconnect,  ///< the connection has ended
  kListen,
  kDeviceGone,  ///< it can only be destroyed
};

/// The options of rdma_set_option(3).
struct IdOptions {
  bool reuse_address = false;
  std::optional<bool> af_only;
  std::optional<uint8_t> tos;
  std::optional<uint8_t> ack_timeout;  ///< 4.096 us * 2^n
};

/// An rdma_cm_id: the part that is the kernel's on other systems.
struct CmId {
  uint32_t number = 0;
  uint64_t uid = 0;        ///< given by librdmacm; 0: a request that was not accepted yet
  CmFile* file = nullptr;  ///< where its events go
  PortSpace space = PortSpace::kTcp;
  ibv_qp_type qp_type = IBV_QPT_RC;
  IdState state = IdState::kIdle;
  uint32_t events_reported = 0;

  Address source;
  Address destination;
  IdOptions options;
  std::shared_ptr<PortClaim> claim;

  DeviceUse* device = nullptr;
  uint8_t port = 1;
  uint8_t gid_index = 0;
  std::vector<Path> paths;  ///< [0]: primary, [1]: alternate

  std::unique_ptr<AddressResolution> resolution;  ///< kAddressQuery
  int resolution_fd = -1;                         ///< watched
  Instant resolution_deadline{};

  // The connection.
  CommId comm;       ///< 0: none
  Psn psn;           ///< ours: the first PSN that we expect
  Qpn qpn;           ///< ours
  bool srq = false;  ///< ours has one
  QKey qkey;         ///< of datagram services; 0: not set
  ConnectionParameters connection;

  RequestSource::Key request_source{};  ///< of a request: its place in the listener's backlog

  // A listener.
  Backlog backlog;
  std::vector<std::pair<DeviceUse*, uint32_t>> listens_on;  ///< listener ids

  std::vector<uint32_t> memberships;

  CmIdReport told;  ///< what observers know of it; number 0: nothing, or not all of them know it

  [[nodiscard]] bool is_ud() const { return qp_type == IBV_QPT_UD; }
  /// Whether REQ and SIDR_REQ begin with the IP addresses.
  [[nodiscard]] bool uses_ip() const { return source.family() != kAfIb; }
  [[nodiscard]] bool af_only() const {
    return options.af_only.value_or(source.family() == AF_INET);
  }
};

/// A joined multicast group.
struct Membership {
  uint32_t number = 0;
  uint32_t owner = 0;  ///< the id
  uint64_t uid = 0;
  uint32_t events_reported = 0;
};

}  // namespace urxe::cm
