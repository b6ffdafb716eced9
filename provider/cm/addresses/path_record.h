// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>
#include <rdma/ib_user_sa.h>

#include <cstdint>
#include <span>

#include "packet/base/expected.h"
#include "packet/wire/gid.h"
#include "packet/wire/types.h"

namespace urxe::cm {

/// The path of an id: the components of a path record (IBTA vol. 1, 15.2.5.16) that RoCE uses.
struct Path {
  uint64_t service_id = 0;  ///< host byte order
  Gid local;
  Gid remote;
  uint32_t flow_label = 0;  ///< 20 bits
  uint8_t hop_limit = 64;
  uint8_t traffic_class = 0;
  uint8_t sl = 0;
  PKey pkey = kDefaultPKey;
  uint8_t mtu = IBV_MTU_1024;    ///< as ibv_mtu
  uint8_t rate = 0;              ///< as ibv_rate; 0: the port's
  uint8_t packet_lifetime = 16;  ///< 4.096 us * 2^n
};

/// As RDMA_USER_CM_CMD_QUERY_ROUTE returns it.
ib_user_path_rec to_user_path(const Path& path);
/// As RDMA_USER_CM_QUERY_PATH returns it: flags and the record's 64 bytes as on the wire.
ib_path_rec_data to_path_data(const Path& path);
/// The first bidirectional record of the value of RDMA_OPTION_IB_PATH. EINVAL: there is none, or
/// the size is not that of records.
Expected<Path, Errno> read_path_option(std::span<const uint8_t> value);

/// The ibv_rate that Linux reports for a RoCE port of that speed.
uint8_t rate_of(uint32_t speed_mbps);

}  // namespace urxe::cm
