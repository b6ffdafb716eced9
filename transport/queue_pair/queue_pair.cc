// SPDX-License-Identifier: BSD-2-Clause
#include "transport/queue_pair/queue_pair.h"

#include "transport/limits.h"
#include "transport/responder/responder.h"

namespace urxe {
namespace {

/// Room for the list of any element that the queue pair can take from a shared queue.
std::unique_ptr<Sge[]> make_taken_list(const QpInit& init) {
  if (init.srq != nullptr) return std::make_unique<Sge[]>(init.srq->max_sge());
  if (init.domain == nullptr) return nullptr;
  return std::make_unique<Sge[]>(kMaxSge);
}

bool has_receive_queue(const QpInit& init) {
  return init.srq == nullptr && init.recv_cq != nullptr;
}

}  // namespace

QueuePair::QueuePair(const QpInit& init)
    : qpn(init.qpn),
      pd(init.pd),
      type(init.type),
      service(service_of(init.type)),
      send_cq(init.send_cq),
      recv_cq(init.recv_cq),
      srq(init.srq),
      domain(init.domain),
      sq_sig_all(init.sq_sig_all),
      user(init.user),
      context(init.context),
      taken_list(make_taken_list(init)),
      sq(init.cap.max_send_wr, init.cap.max_send_sge, init.cap.max_inline_data),
      rq(has_receive_queue(init) ? init.cap.max_recv_wr : 0,
         has_receive_queue(init) ? init.cap.max_recv_sge : 0, 0) {
  reset_responder(*this);
}

}  // namespace urxe
