// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/posting.h"

#include <algorithm>
#include <numeric>

namespace urxe::sim {
namespace {

uint32_t total(std::span<const Sge> sges) {
  return std::accumulate(sges.begin(), sges.end(), 0U,
                         [](uint32_t sum, const Sge& sge) { return sum + sge.length; });
}

bool fill(ReceiveQueue& queue, uint64_t wr_id, std::span<const Sge> sges) {
  if (queue.full()) return false;
  const uint32_t position = queue.next_position();
  RecvWqe& wqe = queue.at(position);
  wqe = RecvWqe{};
  wqe.wr_id = wr_id;
  wqe.num_sge = static_cast<uint32_t>(sges.size());
  wqe.length = total(sges);
  std::copy(sges.begin(), sges.end(), queue.sge_space(position));
  queue.publish();
  return true;
}

}  // namespace

bool post_send(Device& device, QueuePair& qp, const SendRequest& request) {
  if (qp.sq.full()) return false;
  const uint32_t position = qp.sq.next_position();
  SendWqe& wqe = qp.sq.at(position);
  wqe = SendWqe{};
  wqe.wr_id = request.wr_id;
  wqe.opcode = request.opcode;
  wqe.send_flags = request.flags;
  wqe.immediate_be = request.immediate_be;
  wqe.invalidate = request.invalidate;
  wqe.remote_addr = request.remote_addr;
  wqe.rkey = request.rkey;
  wqe.compare_add = request.compare_add;
  wqe.swap = request.swap;
  wqe.flush = request.flush;
  wqe.flush_length = request.flush_length;
  wqe.bind = request.bind;
  wqe.datagram = request.datagram;
  wqe.remote_srqn = request.remote_srqn;
  if ((request.flags & IBV_SEND_INLINE) != 0) {
    wqe.is_inline = true;
    wqe.length = static_cast<uint32_t>(request.inline_data.size());
    std::copy(request.inline_data.begin(), request.inline_data.end(), qp.sq.inline_space(position));
  } else {
    wqe.num_sge = static_cast<uint32_t>(request.sges.size());
    wqe.length = total(request.sges);
    std::copy(request.sges.begin(), request.sges.end(), qp.sq.sge_space(position));
  }
  qp.sq.publish();
  device.ring_doorbell(qp);
  return true;
}

bool post_receive(Device& device, QueuePair& qp, uint64_t wr_id, std::span<const Sge> sges) {
  if (!fill(qp.rq, wr_id, sges)) return false;
  if (qp.state() == IBV_QPS_ERR) device.ring_doorbell(qp);
  return true;
}

bool post_receive(SharedReceiveQueue& srq, uint64_t wr_id, std::span<const Sge> sges) {
  return fill(srq.queue(), wr_id, sges);
}

}  // namespace urxe::sim
