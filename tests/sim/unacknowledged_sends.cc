// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/unacknowledged_sends.h"

#include "tests/sim/failure.h"

namespace urxe::sim {

void UnacknowledgedSends::on_completion(const ibv_wc& wc) {
  const auto name = [&] {
    return text("qp 0x%x wr_id %llu opcode %d status %d: ", qp_.qpn.value(),
                static_cast<unsigned long long>(wc.wr_id), wc.opcode, wc.status);
  };
  while (!sends_.empty() && sends_.front().wr_id != wc.wr_id) {
    require(!sends_.front().signaled && !sends_.front().bad && !in_error_,
            [&] { return name() + "an older request must complete first"; });
    sends_.pop_front();
  }
  require(!sends_.empty(), [&] { return name() + "no such request is outstanding"; });
  const Send send = sends_.front();
  sends_.pop_front();
  if (in_error_) {
    require(wc.status == IBV_WC_WR_FLUSH_ERR, [&] { return name() + "must be flushed"; });
  } else if (send.bad) {
    require(wc.status == IBV_WC_LOC_PROT_ERR && qp_.state() == IBV_QPS_SQE,
            [&] { return name() + "its list is bad"; });
    in_error_ = true;
  } else {
    const bool write =
        send.opcode == IBV_WR_RDMA_WRITE || send.opcode == IBV_WR_RDMA_WRITE_WITH_IMM;
    require(wc.status == IBV_WC_SUCCESS && send.signaled &&
                wc.opcode == (write ? IBV_WC_RDMA_WRITE : IBV_WC_SEND),
            [&] { return name() + "not the completion that is due"; });
  }
}

}  // namespace urxe::sim
