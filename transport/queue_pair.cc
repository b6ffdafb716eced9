// SPDX-License-Identifier: BSD-2-Clause
#include "transport/queue_pair.h"

namespace urxe {

QueuePair::QueuePair(const QpInit& init)
    : qpn(init.qpn),
      pd(init.pd),
      type(init.type),
      service(service_of(init.type)),
      send_cq(init.send_cq),
      recv_cq(init.recv_cq),
      sq_sig_all(init.sq_sig_all),
      user(init.user),
      sq(init.cap.max_send_wr, init.cap.max_send_sge, init.cap.max_inline_data),
      rq(init.cap.max_recv_wr, init.cap.max_recv_sge, 0) {}

}  // namespace urxe
