// SPDX-License-Identifier: BSD-2-Clause
#include "transport/responder/receive_source.h"

#include <algorithm>

#include "packet/wire/aeth_syndrome.h"
#include "transport/queues/shared_receive_queue.h"

namespace urxe {
namespace {

bool take_shared_receive(ChannelAdapter& ca, QueuePair& qp) {
  SharedReceiveQueue& srq = *qp.responder.srq;
  ReceiveQueue& queue = srq.queue();
  if (queue.empty()) return false;
  const uint32_t position = queue.oldest();
  const RecvWqe& wqe = queue.at(position);
  const auto list = queue.sges(position);
  std::ranges::copy(list, qp.taken_list.get());
  qp.responder.receive = TakenReceive{wqe.wr_id,
                                      wqe.length,
                                      {qp.taken_list.get(), list.size()},
                                      srq.pd,
                                      srq.cq != nullptr ? srq.cq : qp.recv_cq};
  queue.retire();
  queue.free_retired();
  check_limit(ca, srq);
  return true;
}

/// The completion queue of an XRC shared receive queue has failed: the shared queue can report
/// nothing more.
void fail_shared_queue(ChannelAdapter& ca, SharedReceiveQueue* srq) {
  if (srq == nullptr || srq->cq == nullptr || !srq->cq->in_error() || srq->in_error) return;
  srq->in_error = true;
  ca.raise(IBV_EVENT_SRQ_ERR, srq);
}

}  // namespace

bool take_receive(ChannelAdapter& ca, QueuePair& qp) {
  if (qp.responder.receive) return true;
  return qp.responder.srq != nullptr ? take_shared_receive(ca, qp) : take_own_receive(qp);
}

std::optional<uint64_t> next_receive_length(QueuePair& qp) {
  ResponderState& resp = qp.responder;
  if (resp.receive) return resp.receive->length;
  ReceiveQueue& queue = resp.srq != nullptr ? resp.srq->queue() : qp.rq;
  if (queue.empty()) return {};
  return queue.at(queue.oldest()).length;
}

bool take_own_receive(QueuePair& qp) {
  if (qp.rq.empty()) return false;
  const uint32_t position = qp.rq.oldest();
  const RecvWqe& wqe = qp.rq.at(position);
  qp.responder.receive =
      TakenReceive{wqe.wr_id, wqe.length, qp.rq.sges(position), qp.pd, qp.recv_cq};
  qp.rq.retire();
  return true;
}

bool lacks_receive(const QueuePair& qp) {
  const ResponderState& resp = qp.responder;
  if (!resp.rnr_nak_outstanding || qp.state() == IBV_QPS_ERR) return false;
  return resp.srq != nullptr ? resp.srq->queue().empty() : qp.rq.empty();
}

void complete_taken(ChannelAdapter& ca, QueuePair& qp, ibv_wc wc, bool solicited) {
  wc.wr_id = qp.responder.receive->wr_id;
  wc.qp_num = qp.qpn.value();
  CompletionQueue& cq = *qp.responder.receive->cq;
  qp.completion_counters.note(Counted::kRecv, wc.status == IBV_WC_SUCCESS, wc.byte_len);
  drop_taken(qp);
  // A thread sleeps until the event. Its answer will go by another queue pair, since an XRC target
  // sends no requests: the ACK need not wait to share a datagram with it.
  if (qp.domain != nullptr && cq.is_armed()) qp.responder.ack_urgent = true;
  ca.complete(cq, qp, wc, solicited);
  fail_shared_queue(ca, qp.responder.srq);
}

void drop_taken(QueuePair& qp) {
  qp.responder.receive.reset();
  if (!qp.takes_shared_receives()) qp.rq.free_retired();
}

bool use_named_queue(ChannelAdapter& ca, QueuePair& qp, const Headers& headers) {
  ResponderState& resp = qp.responder;
  SharedReceiveQueue* srq = ca.srqs.find(headers.xrc_srq);
  if (srq == nullptr || srq->domain != qp.domain) return false;
  if (resp.message != ResponderState::Message::kNone && srq != resp.srq) return false;
  resp.srq = srq;
  resp.pd = srq->pd;
  return true;
}

void forget_shared_queue(QueuePair& qp, const SharedReceiveQueue& srq) {
  if (qp.responder.srq != &srq) return;
  drop_taken(qp);
  qp.responder.srq = nullptr;
}

uint8_t advertised_credits(const QueuePair& qp) {
  if (qp.takes_shared_receives()) return kAckNoCredits;
  const uint32_t waiting = qp.rq.posted() - qp.rq.oldest();
  return credit_code(waiting + (qp.responder.receive ? 1 : 0));
}

void check_limit(ChannelAdapter& ca, SharedReceiveQueue& srq) {
  if (srq.waiting() >= srq.limit) return;
  srq.limit = 0;
  ca.raise(IBV_EVENT_SRQ_LIMIT_REACHED, &srq);
}

}  // namespace urxe
