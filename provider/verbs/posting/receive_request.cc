// SPDX-License-Identifier: BSD-2-Clause
#include "provider/verbs/posting/receive_request.h"

#include <cerrno>

namespace urxe {
namespace {

int post(ReceiveQueue& queue, const ibv_recv_wr& wr) {
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > queue.max_sge()) return EINVAL;
  if (queue.full()) return ENOMEM;
  const uint32_t position = queue.next_position();
  RecvWqe& wqe = queue.at(position);
  wqe.wr_id = wr.wr_id;
  wqe.num_sge = static_cast<uint32_t>(wr.num_sge);
  wqe.length = 0;
  Sge* out = queue.sge_space(position);
  for (int i = 0; i < wr.num_sge; ++i) {
    const ibv_sge& sge = wr.sg_list[i];
    *out++ = Sge{sge.addr, sge.length, LKey(sge.lkey)};
    wqe.length += sge.length;
  }
  queue.publish();
  return 0;
}

}  // namespace

int post_receives(ReceiveQueue& queue, ibv_recv_wr*& wr) {
  for (; wr != nullptr; wr = wr->next) {
    if (int wrong = post(queue, *wr); wrong != 0) return wrong;
  }
  return 0;
}

}  // namespace urxe
