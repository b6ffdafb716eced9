// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <span>
#include <vector>

#include "transport/device/device.h"
#include "transport/memory/memory_region.h"

namespace urxe::sim {

/// A send work request as ibv_send_wr holds it.
struct SendRequest {
  uint64_t wr_id = 0;
  ibv_wr_opcode opcode = IBV_WR_SEND;
  unsigned flags = 0;  ///< ibv_send_flags
  std::vector<Sge> sges;
  std::vector<uint8_t> inline_data;  ///< used instead of `sges` with IBV_SEND_INLINE
  uint32_t immediate_be = 0;
  RKey invalidate;
  uint64_t remote_addr = 0;
  RKey rkey;
  uint64_t compare_add = 0;
  uint64_t swap = 0;
  Feth flush;                 ///< of FLUSH, also the next
  uint32_t flush_length = 0;  ///< bytes
  BindRequest bind;           ///< of BIND_MW
  Datagram datagram;          ///< UD only
  Srqn remote_srqn;           ///< XRC only
};

/// Puts a request on the send queue and rings the doorbell. False: the queue is full.
bool post_send(Device& device, QueuePair& qp, const SendRequest& request);

/// Puts a receive on the receive queue; rings where the queue pair is in error. False: full.
bool post_receive(Device& device, QueuePair& qp, uint64_t wr_id, std::span<const Sge> sges);

/// Puts a receive on a shared receive queue. False: full.
bool post_receive(SharedReceiveQueue& srq, uint64_t wr_id, std::span<const Sge> sges);

}  // namespace urxe::sim
