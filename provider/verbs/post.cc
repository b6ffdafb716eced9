// SPDX-License-Identifier: BSD-2-Clause
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <span>

#include "provider/runtime/fence.h"
#include "provider/verbs/objects.h"

namespace urxe {
namespace {

std::span<const ibv_sge> list_of(const ibv_sge* list, int count) {
  return {list, static_cast<size_t>(count)};
}

uint64_t total_length(std::span<const ibv_sge> list) {
  uint64_t total = 0;
  for (const ibv_sge& sge : list) total += sge.length;
  return total;
}

void copy_list(std::span<const ibv_sge> list, Sge* out) {
  for (const ibv_sge& sge : list) *out++ = Sge{sge.addr, sge.length, LKey(sge.lkey)};
}

bool is_write_or_send(ibv_wr_opcode opcode) {
  switch (opcode) {
    case IBV_WR_SEND:
    case IBV_WR_SEND_WITH_IMM:
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return true;
    default:
      return false;
  }
}

/// Windows of type 1 are bound by ibv_bind_mw() alone.
int check_bind(const ibv_send_wr& wr) {
  const auto& bind = wr.bind_mw;
  if (bind.mw == nullptr || bind.mw->type != IBV_MW_TYPE_2) return EINVAL;
  return bind_info_is_valid(bind.bind_info) ? 0 : EINVAL;
}

int check_request(const Qp& qp, const SendQueue& queue, const ibv_send_wr& wr) {
  if (!takes_opcode(qp.queue_pair->type, wr.opcode)) return EINVAL;
  if (wr.opcode == IBV_WR_BIND_MW) {
    if (int wrong = check_bind(wr); wrong != 0) return wrong;
  }
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > queue.max_sge()) return EINVAL;
  if ((wr.send_flags & IBV_SEND_INLINE) != 0 &&
      (!is_write_or_send(wr.opcode) ||
       total_length(list_of(wr.sg_list, wr.num_sge)) > queue.inline_bytes())) {
    return EINVAL;
  }
  return queue.full() ? ENOMEM : 0;
}

void copy_inline(std::span<const ibv_sge> list, uint8_t* out) {
  for (const ibv_sge& sge : list) {
    if (sge.length == 0) continue;
    std::memcpy(out, reinterpret_cast<const void*>(sge.addr), sge.length);
    out += sge.length;
  }
}

int copy_operands(const Qp& qp, const ibv_send_wr& wr, SendWqe& wqe) {
  if (qp.queue_pair->type == IBV_QPT_UD) {
    wqe.immediate_be = wr.imm_data;
    return set_datagram(qp, wqe, wr.wr.ud.ah, wr.wr.ud.remote_qpn, wr.wr.ud.remote_qkey);
  }
  switch (wr.opcode) {
    case IBV_WR_ATOMIC_CMP_AND_SWP:
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      wqe.remote_addr = wr.wr.atomic.remote_addr;
      wqe.rkey = RKey(wr.wr.atomic.rkey);
      wqe.compare_add = wr.wr.atomic.compare_add;
      wqe.swap = wr.wr.atomic.swap;
      break;
    case IBV_WR_BIND_MW:
      wqe.bind = bind_request(mw_of(wr.bind_mw.mw), RKey(wr.bind_mw.rkey), wr.bind_mw.bind_info);
      break;
    case IBV_WR_SEND_WITH_INV:
    case IBV_WR_LOCAL_INV:
      wqe.invalidate = RKey(wr.invalidate_rkey);
      break;
    default:
      wqe.immediate_be = wr.imm_data;
      wqe.remote_addr = wr.wr.rdma.remote_addr;
      wqe.rkey = RKey(wr.wr.rdma.rkey);
      break;
  }
  return 0;
}

/// Windows have no data.
std::span<const ibv_sge> data_of(const ibv_send_wr& wr) {
  const bool has_data = wr.opcode != IBV_WR_BIND_MW && wr.opcode != IBV_WR_LOCAL_INV;
  return list_of(wr.sg_list, has_data ? wr.num_sge : 0);
}

int post(const Qp& qp, SendQueue& queue, const ibv_send_wr& wr) {
  if (int wrong = check_request(qp, queue, wr); wrong != 0) return wrong;
  const uint32_t position = queue.next_position();
  const auto list = data_of(wr);
  SendWqe& wqe = queue.at(position);
  wqe = SendWqe{};
  wqe.wr_id = wr.wr_id;
  wqe.opcode = wr.opcode;
  wqe.send_flags = wr.send_flags;
  wqe.is_inline = (wr.send_flags & IBV_SEND_INLINE) != 0;
  // Longer than any message may be is for the requester to refuse.
  wqe.length = static_cast<uint32_t>(std::min<uint64_t>(total_length(list), UINT32_MAX));
  if (int wrong = copy_operands(qp, wr, wqe); wrong != 0) return wrong;
  if (wqe.is_inline) {
    copy_inline(list, queue.inline_space(position));
  } else {
    wqe.num_sge = static_cast<uint32_t>(list.size());
    copy_list(list, queue.sge_space(position));
  }
  queue.publish();
  return 0;
}

bool takes_sends(ibv_qp_state state) {
  return state != IBV_QPS_RESET && state != IBV_QPS_INIT && state != IBV_QPS_RTR;
}

int post(const Qp& /*qp*/, ReceiveQueue& queue, const ibv_recv_wr& wr) {
  if (wr.num_sge < 0 || static_cast<uint32_t>(wr.num_sge) > queue.max_sge()) return EINVAL;
  if (queue.full()) return ENOMEM;
  const uint32_t position = queue.next_position();
  const auto list = list_of(wr.sg_list, wr.num_sge);
  RecvWqe& wqe = queue.at(position);
  wqe.wr_id = wr.wr_id;
  wqe.num_sge = static_cast<uint32_t>(wr.num_sge);
  wqe.length = total_length(list);
  copy_list(list, queue.sge_space(position));
  queue.publish();
  return 0;
}

/// Posts a chain up to the first request that cannot be taken, which `wr` is then.
template <class Queue, class Request>
int post_chain(const Qp& qp, Queue& queue, Request*& wr) {
  for (; wr != nullptr; wr = wr->next) {
    if (int wrong = post(qp, queue, *wr); wrong != 0) return wrong;
  }
  return 0;
}

void ring(Qp& qp) {
  qp.owner->device().device().ring_doorbell(*qp.queue_pair);
  qp.progress->on_post(*qp.queue_pair);
}

}  // namespace

int post_send(ibv_qp* handle, ibv_send_wr* wr, ibv_send_wr** bad_wr) noexcept {
  Qp& qp = qp_of(handle);
  const ibv_send_wr* const first = wr;
  int result = 0;
  if (qp.owner->is_forked()) {
    result = ENODEV;
  } else {
    std::lock_guard poster(qp.send_poster);
    result = takes_sends(qp.queue_pair->state()) ? post_chain(qp, qp.queue_pair->sq, wr) : EINVAL;
  }
  if (result != 0) *bad_wr = wr;
  if (wr != first) ring(qp);
  return result;
}

int bind_mw(ibv_qp* handle, ibv_mw* window, ibv_mw_bind* bind) noexcept {
  Qp& qp = qp_of(handle);
  Mw& mw = mw_of(window);
  if (qp.owner->is_forked()) return ENODEV;
  if (window->pd != handle->pd || !bind_info_is_valid(bind->bind_info)) return EINVAL;
  {
    std::lock_guard poster(qp.send_poster);
    SendQueue& queue = qp.queue_pair->sq;
    if (!takes_sends(qp.queue_pair->state())) return EINVAL;
    if (queue.full()) return ENOMEM;
    SendWqe& wqe = queue.at(queue.next_position());
    wqe = SendWqe{};
    wqe.wr_id = bind->wr_id;
    wqe.opcode = IBV_WR_BIND_MW;
    wqe.send_flags = bind->send_flags;
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
    const bool takes = qp.queue_pair->state() != IBV_QPS_RESET;
    result = takes ? post_chain(qp, qp.queue_pair->rq, wr) : EINVAL;
    // Either the device's flush sees what was published, or this sees the state that it set first.
    full_fence();
  }
  if (result != 0) *bad_wr = wr;
  if (result != ENODEV && qp.queue_pair->state() == IBV_QPS_ERR) ring(qp);
  return result;
}

}  // namespace urxe
