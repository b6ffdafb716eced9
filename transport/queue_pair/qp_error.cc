// SPDX-License-Identifier: BSD-2-Clause
#include "transport/queue_pair/qp_error.h"

#include "packet/base/fence.h"
#include "transport/observation/note_cause.h"
#include "transport/requester/requester.h"
#include "transport/responder/receive_source.h"

namespace urxe {
namespace {

void complete_send_in_error(ChannelAdapter& ca, QueuePair& qp, ibv_wc_status status) {
  const SendWqe& wqe = qp.sq.at(qp.sq.oldest());
  ibv_wc wc{};
  wc.wr_id = wqe.wr_id;
  wc.status = status;
  wc.opcode = send_completion_opcode(wqe.opcode);
  wc.qp_num = qp.qpn.value();
  ca.counters.count_failed_send(status);
  note_completed(qp, wqe, false);
  qp.sq.retire();
  ca.complete(*qp.send_cq, qp, wc, true, qp.sq.freed_by_completion());
}

}  // namespace

ibv_wc_opcode send_completion_opcode(ibv_wr_opcode opcode) {
  if (opcode == kWrFlush) return kWcFlush;
  switch (opcode) {
    case IBV_WR_RDMA_WRITE:
    case IBV_WR_RDMA_WRITE_WITH_IMM:
      return IBV_WC_RDMA_WRITE;
    case IBV_WR_RDMA_READ:
      return IBV_WC_RDMA_READ;
    case IBV_WR_ATOMIC_CMP_AND_SWP:
      return IBV_WC_COMP_SWAP;
    case IBV_WR_ATOMIC_FETCH_AND_ADD:
      return IBV_WC_FETCH_ADD;
    case IBV_WR_ATOMIC_WRITE:
      return IBV_WC_ATOMIC_WRITE;
    case IBV_WR_BIND_MW:
      return IBV_WC_BIND_MW;
    case IBV_WR_LOCAL_INV:
      return IBV_WC_LOCAL_INV;
    default:
      return IBV_WC_SEND;
  }
}

void note_completed(const QueuePair& qp, const SendWqe& wqe, bool succeeded) {
  switch (send_completion_opcode(wqe.opcode)) {
    case IBV_WC_SEND:
      return qp.completion_counters.note(Counted::kSend, succeeded, wqe.length);
    case IBV_WC_RDMA_WRITE:
      return qp.completion_counters.note(Counted::kWrite, succeeded, wqe.length);
    case IBV_WC_RDMA_READ:
      return qp.completion_counters.note(Counted::kRead, succeeded, wqe.length);
    default:
      return;
  }
}

void complete_receive_in_error(ChannelAdapter& ca, QueuePair& qp, ibv_wc_status status) {
  ibv_wc wc{};
  wc.status = status;
  wc.opcode = IBV_WC_RECV;
  ca.counters.count_failed_receive(status);
  complete_taken(ca, qp, wc, true);
}

void flush_sends(ChannelAdapter& ca, QueuePair& qp) {
  while (!qp.sq.empty()) complete_send_in_error(ca, qp, IBV_WC_WR_FLUSH_ERR);
  skip_completed_sends(qp);
}

void flush(ChannelAdapter& ca, QueuePair& qp) {
  flush_sends(ca, qp);
  while (holds_receive(qp) || take_own_receive(qp)) {
    complete_receive_in_error(ca, qp, IBV_WC_WR_FLUSH_ERR);
  }
}

void enter_error(ChannelAdapter& ca, QueuePair& qp, OwedAnswers owed) {
  note_circumstances(ca, qp);
  qp.set_state(IBV_QPS_ERR);
  full_fence();  // either flush() sees a receive that is posted now, or its poster sees the state
  stop_requester(ca, qp);
  stop_responder(ca, qp, owed);
  flush(ca, qp);
  // It holds no element of the shared queue and takes no more (10.3.1).
  if (qp.takes_shared_receives()) ca.raise(IBV_EVENT_QP_LAST_WQE_REACHED, &qp);
}

void fail_oldest_send(ChannelAdapter& ca, QueuePair& qp, ibv_wc_status status) {
  note_failed_send(ca, qp, status);
  complete_send_in_error(ca, qp, status);
  if (!is_unreliable(qp.service)) return enter_error(ca, qp, OwedAnswers::kSend);
  note_circumstances(ca, qp);
  qp.set_state(IBV_QPS_SQE);
  flush_sends(ca, qp);
}

Turn fail_turn(ChannelAdapter& ca, QueuePair& qp, ibv_wc_status status) {
  fail_oldest_send(ca, qp, status);
  return Turn::kIdle;
}

}  // namespace urxe
