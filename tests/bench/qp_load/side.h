// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

#include "tests/bench/qp_load/options.h"
#include "tests/bench/verbs_end.h"

namespace bench {

/// What a WRITE takes of a queue pair's peer.
struct Peer {
  ibv_gid gid;
  uint64_t address;
  uint32_t rkey;
};

/// One of the two processes. Thread t uses the queue pairs whose index, divided by the number of
/// threads, leaves t, and the completion queue t.
struct Side {
  Options options;
  int channel = -1;  ///< a socket to the other process
  Device device{};
  std::vector<ibv_cq*> cqs;
  std::vector<ibv_qp*> qps;
  std::vector<uint8_t> memory;  ///< buffers that the queue pairs share
  ibv_mr* region = nullptr;
  Peer peer{};
  double kib_per_qp = 0;  ///< resident, as the system counts it

  /// Where, in either side's memory, the queue pair's messages are.
  [[nodiscard]] uint64_t offset(uint32_t qp) const { return qp % kBuffers * options.bytes; }

  static constexpr uint32_t kBuffers = 64;
};

/// Opens the device, and connects all queue pairs with those of the other process, which calls this
/// with the other end of the socket.
void connect_all(Side& side);

/// Each waits for the other.
void meet(int channel);

}  // namespace bench
