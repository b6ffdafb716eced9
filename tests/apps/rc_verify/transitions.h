// SPDX-License-Identifier: BSD-2-Clause
// Brings a queue pair from RESET to RTS.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>

#include "options.h"

namespace rc_verify {

// What one queue pair tells its peer.
struct Address {
  ibv_gid gid;
  uint32_t qp_number;
  uint32_t psn;
  uint32_t reads_taken;  // READs and atomics it takes at a time.
};

// How a queue pair is connected; what UC does not have is left alone there.
struct Connection {
  Transport transport;
  Address peer;
  uint32_t gid_index;
  uint32_t path_mtu;  // In bytes.
  uint32_t psn;       // Of our first request.
  uint32_t reads_taken;
  uint32_t reads;          // Outstanding at most.
  uint32_t timeout;        // Local ACK timeout, 4.096 us x 2^n.
  uint32_t rnr_retry;      // 7: without end.
  uint32_t min_rnr_timer;  // Code.
};

inline constexpr uint8_t kPort = 1;

// Throws Failure where the device refuses.
void connect_queue_pair(ibv_qp* qp, const Connection& connection);

}  // namespace rc_verify
