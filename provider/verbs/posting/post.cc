// SPDX-License-Identifier: BSD-2-Clause
#include <cerrno>
#include <mutex>
#include <span>

#include "packet/base/fence.h"
#include "provider/verbs/posting/receive_request.h"
#include "provider/verbs/posting/send_request.h"
#include "provider/verbs/verbs.h"
#include "transport/later_verbs.h"

namespace urxe {
namespace {

std::span<const ibv_sge> list_of(const ibv_sge* list, int count) {
  return {list, static_cast<size_t>(count)};
}

/// Sets everything but the data.
int set_operands(const Qp& qp, const ibv_send_wr& wr, SendWqe& wqe) {
  if (qp.queue_pair->type == IBV_QPT_UD) {
    wqe.immediate_be = wr.imm_data;
    return set_datagram(qp, wqe, wr.wr.ud.ah, wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey);
  }
  if (qp.queue_pair->type == IBV_QPT_XRC_SEND) {
    wqe.remote_srqn = Srqn(wr.qp_type.xrc.remote_srqn);
  }
  switch (wr.opcode) {
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      wqe.remote_addr = wr.wr.atomic.remote_addr;
      wqe.rkey = RKey(wr.wr.atomic.rkey);
      wqe.compare_add = wr.wr.atomic.compare_add;
      wqe.swap = wr.wr.atomic.swap;
      return 0;
    case IBV_WR_BIND_MW:
      return set_bind(wqe, wr.bind_mw.mw, wr.bind_mw.rkey, wr.bind_mw.bind_info);
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV:
      wqe.invalidate = RKey(wr.invalidate_rkey);
      return 0;
    default:
      wqe.immediate_be = wr.imm_data;
      wqe.remote_addr = wr.wr.rdma.remote_addr;
      wqe.rkey = RKey(wr.wr.rdma.rkey);
      return 0;
  }
}

int set_data(SendQueue& queue, uint32_t position, const ibv_send_wr& wr) {
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > queue.max_sge()) return EINVAL;
  const auto list = list_of(wr.sg_list, has_data(wr.opcode) ? wr.num_sge : 0);
  if ((wr.send_flags & IBV_SEND_INLINE) != 0) return set_inline_data(queue, position, list);
  return set_list(queue, position, list);
}

int post(const Qp& qp, const ibv_send_wr& wr) {
  SendQueue& queue = qp.queue_pair->sq;
  // ibv_send_wr has no members for a FLUSH: only ibv_wr_flush() posts it.
  if (!takes_opcode(qp.queue_pair->type, wr.opcode) || wr.opcode == kWrFlush) return EINVAL;
  if (queue.full()) return ENOMEM;
  const uint32_t position = queue.next_position();
  SendWqe& wqe = begin_request(queue, position, wr.wr_id, wr.opcode, wr.send_flags);
  if (int wrong = set_operands(qp, wr, wqe); wrong != 0) return wrong;
  if (int wrong = set_data(queue, position, wr); wrong != 0) return wrong;
  queue.publish();
  return 0;
}

/// Posts a chain up to the first request that is refused; `wr` is that request then, else null.
int post_chain(const Qp& qp, ibv_send_wr*& wr) {
  for (; wr != nullptr; wr = wr->next) {
    if (int wrong = post(qp, *wr); wrong != 0) return wrong;
  }
  return 0;
}

/// False if receives are posted to a shared receive queue, and for XRC, which has no receive queue.
bool takes_receives(const QueuePair& qp) {
  return qp.state() != IBV_QPS_RESET && qp.recv_cq != nullptr && qp.srq == nullptr;
}

}  // namespace

void ring(Qp& qp) {
  qp.progress->on_post(*qp.queue_pair);
}

int post_send(ibv_qp* handle, ibv_send_wr* wr, ibv_send_wr** bad_wr) noexcept {
  Qp& qp = qp_of(handle);
  const ibv_send_wr* const first = wr;
  int result = 0;
  if (qp.owner->is_forked()) {
    result = ENODEV;
  } else {
    std::lock_guard poster(qp.send_poster);
    result = takes_sends(qp.queue_pair->state()) ? post_chain(qp, wr) : EINVAL;
  }
  if (result != 0) *bad_wr = wr;
  if (wr != first) ring(qp);
  return result;
}

int bind_mw(ibv_qp* handle, ibv_mw* window, ibv_mw_bind* bind) noexcept {
  Qp& qp = qp_of(handle);
  Mw& mw = mw_of(window);
  if (qp.owner->is_forked()) return ENODEV;
  if (!takes_opcode(qp.queue_pair->type, IBV_WR_BIND_MW) || check_handle(window) != 0 ||
      !same_domain(window->pd, handle->pd) || !bind_info_is_valid(bind->bind_info))
    return EINVAL;
  {
    std::lock_guard poster(qp.send_poster);
    SendQueue& queue = qp.queue_pair->sq;
    if (!takes_sends(qp.queue_pair->state())) return EINVAL;
    if (queue.full()) return ENOMEM;
    SendWqe& wqe =
        begin_request(queue, queue.next_position(), bind->wr_id, IBV_WR_BIND_MW, bind->send_flags);
    const RKey key(ibv_inc_rkey(window->rkey));
    wqe.bind = bind_request(mw, key, bind->bind_info);
    queue.publish();
    window->rkey = key.value();
  }
  ring(qp);
  return 0;
}

int post_recv(ibv_qp* handle, ibv_recv_wr* wr, ibv_recv_wr** bad_wr) noexcept {
  Qp& qp = qp_of(handle);
  int result = 0;
  if (qp.owner->is_forked()) {
    result = ENODEV;
  } else {
    std::lock_guard poster(qp.recv_poster);
    result = takes_receives(*qp.queue_pair) ? post_receives(qp.queue_pair->rq, wr) : EINVAL;
    // Either the device's flush sees the published receives, or this thread sees the error state
    // that was set before the flush.
    full_fence();
  }
  if (result != 0) *bad_wr = wr;
  if (result == ENODEV) return result;
  const bool is_awaited = qp.queue_pair->wants_receives.load(std::memory_order_seq_cst);
  if (is_awaited || qp.queue_pair->state() == IBV_QPS_ERR) ring(qp);
  return result;
}

}  // namespace urxe
