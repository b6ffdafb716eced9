// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/conformance/support/fixture.h"

namespace conformance {

inline constexpr uint32_t kGrhSize = 40;  ///< at the start of every UD receive buffer

/// Two UD endpoints in RTS, each with memory; nothing is connected.
struct DatagramConformance : PairConformance {
 protected:
  /// Skips the test where there is no UD. Any type that the configurations name is overwritten.
  void start(QpConfig left = {}, QpConfig right = {});
  void TearDown() override;

  /// The path MTU of datagrams: the port's.
  uint32_t mtu_bytes() const { return 128U << device_.port_attr.active_mtu; }
  AhPtr create_ah(ibv_pd* pd) const;
  /// Left to right, `size` bytes of local_.
  Send message(uint64_t id, uint32_t size) const;

  std::unique_ptr<Buffer> local_;   ///< the left side's; a pattern
  std::unique_ptr<Buffer> remote_;  ///< the right side's; zeros
  AhPtr ah_;                        ///< the left side's, to this port
};

}  // namespace conformance
