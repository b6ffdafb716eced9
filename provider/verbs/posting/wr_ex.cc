// SPDX-License-Identifier: BSD-2-Clause
// The builders of ibv_qp_ex (ibv_wr_post(3)). They fill the elements of the send queue in place;
// ibv_wr_complete() publishes all of them at once, or none.
#include <array>
#include <cerrno>
#include <span>

#include "provider/verbs/abi/entry.h"
#include "provider/verbs/posting/send_request.h"
#include "provider/verbs/verbs.h"
#include "transport/later_verbs.h"

namespace urxe {
namespace {

SendQueue& queue_of(const Qp& qp) {
  return qp.queue_pair->sq;
}

/// The batch fails: nothing is posted, and ibv_wr_complete() returns the first error.
void fail_batch(Qp& qp, int errno_value) {
  if (qp.batch.wrong == 0) qp.batch.wrong = errno_value;
}

/// A datagram needs an address, an XRC request a shared receive queue.
void check_addressed(Qp& qp) {
  if (qp.batch.needs_address) fail_batch(qp, EINVAL);
}

/// Starts the next request; null if the batch has failed already.
SendWqe* begin(ibv_qp_ex* handle, ibv_wr_opcode opcode) {
  Qp& qp = qp_of(handle);
  check_addressed(qp);
  SendBatch& batch = qp.batch;
  if (!queue_of(qp).has_room(batch.end)) fail_batch(qp, ENOMEM);
  if (batch.wrong != 0) return nullptr;
  const ibv_qp_type type = qp.queue_pair->type;
  batch.needs_address = type == IBV_QPT_UD || (type == IBV_QPT_XRC_SEND && is_remote(opcode));
  const unsigned flags = handle->wr_flags & ~static_cast<unsigned>(IBV_SEND_INLINE);
  return &begin_request(queue_of(qp), batch.end++, handle->wr_id, opcode, flags);
}

/// The request that a setter adds to; null if there is none, or the batch has failed.
SendWqe* current(Qp& qp) {
  if (qp.batch.end == queue_of(qp).next_position()) fail_batch(qp, EINVAL);
  return qp.batch.wrong == 0 ? &queue_of(qp).at(qp.batch.end - 1) : nullptr;
}

/// As current(), for requests that have data.
SendWqe* current_with_data(Qp& qp) {
  SendWqe* wqe = current(qp);
  if (wqe == nullptr || has_data(wqe->opcode)) return wqe;
  fail_batch(qp, EINVAL);
  return nullptr;
}

void wr_start(ibv_qp_ex* handle) noexcept {
  Qp& qp = qp_of(handle);
  qp.send_poster.lock();
  qp.batch = SendBatch{.end = queue_of(qp).next_position()};
  if (qp.owner->is_forked()) {
    fail_batch(qp, ENODEV);
  } else if (!takes_sends(qp.queue_pair->state())) {
    fail_batch(qp, EINVAL);
  }
}

int wr_complete(ibv_qp_ex* handle) noexcept {
  Qp& qp = qp_of(handle);
  check_addressed(qp);
  const int wrong = qp.batch.wrong;
  const bool posts = wrong == 0 && qp.batch.end != queue_of(qp).next_position();
  if (posts) queue_of(qp).publish_until(qp.batch.end);
  qp.send_poster.unlock();
  if (posts) ring(qp);
  return wrong;
}

void wr_abort(ibv_qp_ex* handle) noexcept {
  qp_of(handle).send_poster.unlock();
}

template <ibv_wr_opcode kOpcode>
void send(ibv_qp_ex* handle) noexcept {
  (void)begin(handle, kOpcode);
}

template <ibv_wr_opcode kOpcode>
void send_with_immediate(ibv_qp_ex* handle, __be32 immediate) noexcept {
  if (SendWqe* wqe = begin(handle, kOpcode)) wqe->immediate_be = immediate;
}

template <ibv_wr_opcode kOpcode>
void with_key(ibv_qp_ex* handle, uint32_t rkey) noexcept {
  if (SendWqe* wqe = begin(handle, kOpcode)) wqe->invalidate = RKey(rkey);
}

SendWqe* begin_remote(ibv_qp_ex* handle, ibv_wr_opcode opcode, uint32_t rkey, uint64_t addr) {
  SendWqe* wqe = begin(handle, opcode);
  if (wqe != nullptr) {
    wqe->remote_addr = addr;
    wqe->rkey = RKey(rkey);
  }
  return wqe;
}

template <ibv_wr_opcode kOpcode>
void remote(ibv_qp_ex* handle, uint32_t rkey, uint64_t addr) noexcept {
  (void)begin_remote(handle, kOpcode, rkey, addr);
}

void wr_rdma_write_imm(ibv_qp_ex* handle, uint32_t rkey, uint64_t addr, __be32 immediate) noexcept {
  SendWqe* wqe = begin_remote(handle, IBV_WR_RDMA_WRITE_WITH_IMM, rkey, addr);
  if (wqe != nullptr) wqe->immediate_be = immediate;
}

void wr_atomic_cmp_swp(ibv_qp_ex* handle, uint32_t rkey, uint64_t addr, uint64_t compare,
                       uint64_t swap) noexcept {
  SendWqe* wqe = begin_remote(handle, IBV_WR_ATOMIC_CMP_AND_SWP, rkey, addr);
  if (wqe == nullptr) return;
  wqe->compare_add = compare;
  wqe->swap = swap;
}

void wr_atomic_fetch_add(ibv_qp_ex* handle, uint32_t rkey, uint64_t addr, uint64_t add) noexcept {
  SendWqe* wqe = begin_remote(handle, IBV_WR_ATOMIC_FETCH_AND_ADD, rkey, addr);
  if (wqe != nullptr) wqe->compare_add = add;
}

/// The value is in the request, as inline data is.
void wr_atomic_write(ibv_qp_ex* handle, uint32_t rkey, uint64_t addr, const void* value) noexcept {
  if (begin_remote(handle, IBV_WR_ATOMIC_WRITE, rkey, addr) == nullptr) return;
  Qp& qp = qp_of(handle);
  const ibv_data_buf buffer{const_cast<void*>(value), sizeof(uint64_t)};
  const int wrong = set_inline_data(queue_of(qp), qp.batch.end - 1, std::span(&buffer, 1));
  if (wrong != 0) fail_batch(qp, wrong);
}

/// ibv_wr_flush() of rdma-core 45 and later. If all of a region is meant, its length does not
/// count.
void wr_flush(ibv_qp_ex* handle, uint32_t rkey, uint64_t addr, size_t length, uint8_t placement,
              uint8_t selectivity) noexcept {
  SendWqe* wqe = begin_remote(handle, kWrFlush, rkey, addr);
  if (wqe == nullptr) return;
  if (int wrong = set_flush(*wqe, {placement, selectivity}, length); wrong != 0) {
    fail_batch(qp_of(handle), wrong);
  }
}

void wr_bind_mw(ibv_qp_ex* handle, ibv_mw* mw, uint32_t rkey,
                const ibv_mw_bind_info* info) noexcept {
  SendWqe* wqe = begin(handle, IBV_WR_BIND_MW);
  if (wqe == nullptr) return;
  if (int wrong = set_bind(*wqe, mw, rkey, *info); wrong != 0) fail_batch(qp_of(handle), wrong);
}

void set_list(Qp& qp, std::span<const ibv_sge> list) {
  if (current_with_data(qp) == nullptr) return;
  if (int wrong = set_list(queue_of(qp), qp.batch.end - 1, list); wrong != 0) fail_batch(qp, wrong);
}

void set_inline(Qp& qp, std::span<const ibv_data_buf> list) {
  if (current(qp) == nullptr) return;
  int wrong = set_inline_data(queue_of(qp), qp.batch.end - 1, list);
  if (wrong != 0) fail_batch(qp, wrong);
}

void wr_set_sge(ibv_qp_ex* handle, uint32_t lkey, uint64_t addr, uint32_t length) noexcept {
  const ibv_sge sge{addr, length, lkey};
  set_list(qp_of(handle), {&sge, 1});
}

void wr_set_sge_list(ibv_qp_ex* handle, size_t count, const ibv_sge* list) noexcept {
  set_list(qp_of(handle), {list, count});
}

void wr_set_inline_data(ibv_qp_ex* handle, void* addr, size_t length) noexcept {
  const ibv_data_buf buffer{addr, length};
  set_inline(qp_of(handle), {&buffer, 1});
}

void wr_set_inline_data_list(ibv_qp_ex* handle, size_t count, const ibv_data_buf* list) noexcept {
  set_inline(qp_of(handle), {list, count});
}

void wr_set_ud_addr(ibv_qp_ex* handle, ibv_ah* ah, uint32_t qpn, uint32_t qkey) noexcept {
  Qp& qp = qp_of(handle);
  SendWqe* wqe = current(qp);
  if (wqe == nullptr) return;
  const bool is_datagram = qp.queue_pair->type == IBV_QPT_UD;
  const int wrong = is_datagram ? set_datagram(qp, *wqe, ah, qpn, qkey) : EINVAL;
  if (wrong != 0) fail_batch(qp, wrong);
  qp.batch.needs_address = false;
}

void wr_set_xrc_srqn(ibv_qp_ex* handle, uint32_t srqn) noexcept {
  Qp& qp = qp_of(handle);
  SendWqe* wqe = current(qp);
  if (wqe == nullptr) return;
  if (qp.queue_pair->type != IBV_QPT_XRC_SEND) fail_batch(qp, EINVAL);
  wqe->remote_srqn = Srqn(srqn);
  qp.batch.needs_address = false;
}

/// The builder of every operation that the queue pair was not made for.
template <class... Arguments>
void refuse(ibv_qp_ex* handle, Arguments...) noexcept {
  fail_batch(qp_of(handle), EOPNOTSUPP);
}

/// IBV_QP_EX_WITH_FLUSH of rdma-core 45 and later.
constexpr uint64_t kWithFlush = 1 << 11;

struct Builder {
  uint64_t flag;  ///< ibv_qp_create_send_ops_flags
  ibv_wr_opcode opcode;
  void (*set)(abi::VerbsQp&);
};

constexpr std::array kBuilders{
    Builder{IBV_QP_EX_WITH_SEND, IBV_WR_SEND,
            [](abi::VerbsQp& qp) { qp.qp_ex.wr_send = send<IBV_WR_SEND>; }},
    Builder{
        IBV_QP_EX_WITH_SEND_WITH_IMM, IBV_WR_SEND_WITH_IMM,
        [](abi::VerbsQp& qp) { qp.qp_ex.wr_send_imm = send_with_immediate<IBV_WR_SEND_WITH_IMM>; }},
    Builder{IBV_QP_EX_WITH_SEND_WITH_INV, IBV_WR_SEND_WITH_INV,
            [](abi::VerbsQp& qp) { qp.qp_ex.wr_send_inv = with_key<IBV_WR_SEND_WITH_INV>; }},
    Builder{IBV_QP_EX_WITH_RDMA_WRITE, IBV_WR_RDMA_WRITE,
            [](abi::VerbsQp& qp) { qp.qp_ex.wr_rdma_write = remote<IBV_WR_RDMA_WRITE>; }},
    Builder{IBV_QP_EX_WITH_RDMA_WRITE_WITH_IMM, IBV_WR_RDMA_WRITE_WITH_IMM,
            [](abi::VerbsQp& qp) { qp.qp_ex.wr_rdma_write_imm = wr_rdma_write_imm; }},
    Builder{IBV_QP_EX_WITH_RDMA_READ, IBV_WR_RDMA_READ,
            [](abi::VerbsQp& qp) { qp.qp_ex.wr_rdma_read = remote<IBV_WR_RDMA_READ>; }},
    Builder{IBV_QP_EX_WITH_ATOMIC_CMP_AND_SWP, IBV_WR_ATOMIC_CMP_AND_SWP,
            [](abi::VerbsQp& qp) { qp.qp_ex.wr_atomic_cmp_swp = wr_atomic_cmp_swp; }},
    Builder{IBV_QP_EX_WITH_ATOMIC_FETCH_AND_ADD, IBV_WR_ATOMIC_FETCH_AND_ADD,
            [](abi::VerbsQp& qp) { qp.qp_ex.wr_atomic_fetch_add = wr_atomic_fetch_add; }},
    Builder{IBV_QP_EX_WITH_ATOMIC_WRITE, IBV_WR_ATOMIC_WRITE,
            [](abi::VerbsQp& qp) { qp.qp_ex.wr_atomic_write = wr_atomic_write; }},
    Builder{IBV_QP_EX_WITH_LOCAL_INV, IBV_WR_LOCAL_INV,
            [](abi::VerbsQp& qp) { qp.qp_ex.wr_local_inv = with_key<IBV_WR_LOCAL_INV>; }},
    Builder{IBV_QP_EX_WITH_BIND_MW, IBV_WR_BIND_MW,
            [](abi::VerbsQp& qp) { qp.qp_ex.wr_bind_mw = wr_bind_mw; }},
    Builder{kWithFlush, kWrFlush, [](abi::VerbsQp& qp) { set_wr_flush(qp, wr_flush); }},
};

void refuse_all_operations(ibv_qp_ex& qp, const QpLayout& layout) {
  qp.wr_send = refuse;
  qp.wr_send_imm = refuse;
  qp.wr_send_inv = refuse;
  qp.wr_send_tso = refuse;
  qp.wr_rdma_write = refuse;
  qp.wr_rdma_write_imm = refuse;
  qp.wr_rdma_read = refuse;
  qp.wr_atomic_cmp_swp = refuse;
  qp.wr_atomic_fetch_add = refuse;
  if (layout.has_wr_atomic_write()) qp.wr_atomic_write = refuse;
  qp.wr_local_inv = refuse;
  qp.wr_bind_mw = refuse;
}

}  // namespace

int check_send_operations(ibv_qp_type type, uint64_t flags, const QpLayout& layout) {
  // A release without the member has no such flag either.
  const bool writes_atomically = (flags & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0;
  if (writes_atomically && !layout.has_wr_atomic_write()) return EOPNOTSUPP;
  if ((flags & kWithFlush) != 0 && !layout.has_wr_flush()) return EOPNOTSUPP;
  for (const Builder& builder : kBuilders) {
    if ((flags & builder.flag) == 0) continue;
    if (!takes_opcode(type, builder.opcode)) return EOPNOTSUPP;
    flags &= ~builder.flag;
  }
  return flags == 0 ? 0 : EOPNOTSUPP;
}

uint32_t inline_bytes_for(uint64_t send_operations) {
  return (send_operations & IBV_QP_EX_WITH_ATOMIC_WRITE) != 0 ? sizeof(uint64_t) : 0;
}

void set_send_operations(Qp& qp, uint64_t flags, const QpLayout& layout) {
  ibv_qp_ex& handle = qp.qp_ex;
  announce_builders(layout, qp);
  refuse_all_operations(handle, layout);
  set_later_builders(layout, qp, refuse<>);
  for (const Builder& builder : kBuilders) {
    if ((flags & builder.flag) != 0) builder.set(qp);
  }
  handle.wr_set_sge = wr_set_sge;
  handle.wr_set_sge_list = wr_set_sge_list;
  handle.wr_set_inline_data = wr_set_inline_data;
  handle.wr_set_inline_data_list = wr_set_inline_data_list;
  handle.wr_set_ud_addr = wr_set_ud_addr;
  handle.wr_set_xrc_srqn = wr_set_xrc_srqn;
  handle.wr_start = wr_start;
  handle.wr_complete = Entry<wr_complete>::reporting;
  handle.wr_abort = wr_abort;
}

}  // namespace urxe
