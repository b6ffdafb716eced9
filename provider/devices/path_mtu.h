// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

namespace urxe {

/// The largest path MTU whose packets fit an interface of `interface_mtu` bytes.
ibv_mtu path_mtu_for(uint32_t interface_mtu);

/// In bytes: 1024.
constexpr uint32_t path_mtu_bytes(ibv_mtu mtu) {
  return 128U << mtu;
}

/// The largest IP packets of the path MTU, which path_mtu_for() makes room for.
uint32_t largest_packet_of(ibv_mtu mtu);

}  // namespace urxe
