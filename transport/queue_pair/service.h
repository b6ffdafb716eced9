// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "packet/wire/opcode.h"

namespace urxe {

/// The transport service of a type of queue pair; RC for types that have none of ours.
constexpr Service service_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UC:
      return Service::kUc;
    case IBV_QPT_UD:
      return Service::kUd;
    case IBV_QPT_XRC_SEND:
    case IBV_QPT_XRC_RECV:
      return Service::kXrc;
    default:
      return Service::kRc;
  }
}

/// Whether a queue pair of this type takes such work requests (IBTA vol. 1, table 100).
constexpr bool takes_opcode(ibv_qp_type type, ibv_wr_opcode opcode) {
  if (type == IBV_QPT_XRC_RECV) return false;
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
      return true;
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
    case IBV_WR_BIND_MW:
    case IBV_WR_LOCAL_INV:
      return type != IBV_QPT_UD;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_RDMA_READ:
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
    case IBV_WR_ATOMIC_WRITE:
      return type != IBV_QPT_UD && type != IBV_QPT_UC;
    default:
      return false;
  }
}

}  // namespace urxe
