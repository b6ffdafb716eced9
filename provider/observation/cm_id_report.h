// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <netinet/in.h>

#include <array>
#include <cstdint>

namespace urxe {

/// An rdma_cm_id that is bound to a device, or listens there: plain values, which other processes
/// may read.
struct CmIdReport {
  /// The beginning of a sockaddr_in or sockaddr_in6; zeros: there is none.
  using SocketAddress = std::array<uint8_t, sizeof(sockaddr_in6) + 4>;

  uint32_t number = 0;
  uint32_t qpn = 0;         ///< 0: not known
  uint32_t port_space = 0;  ///< as rdma_port_space
  uint8_t qp_type = 0;      ///< ibv_qp_type
  uint8_t state = 0;        ///< as Linux numbers them, rdma_cm_state
  uint16_t unused = 0;
  SocketAddress source{};
  SocketAddress destination{};

  bool operator==(const CmIdReport&) const = default;
};
static_assert(sizeof(CmIdReport) % sizeof(uint64_t) == 0);

}  // namespace urxe
