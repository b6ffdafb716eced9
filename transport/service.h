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

}  // namespace urxe
