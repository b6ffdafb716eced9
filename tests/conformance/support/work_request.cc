// SPDX-License-Identifier: BSD-2-Clause
#include "tests/conformance/support/work_request.h"

#include <arpa/inet.h>

namespace conformance {

Send& Send::imm(uint32_t value) {
  wr_.imm_data = htonl(value);
  return *this;
}

ibv_send_wr* Send::wr() {
  wr_.sg_list = sges_.data();
  wr_.num_sge = static_cast<int>(sges_.size());
  return &wr_;
}

int Send::post(ibv_qp* qp) {
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, wr(), &bad);
}

ibv_recv_wr* Recv::wr() {
  wr_.sg_list = sges_.data();
  wr_.num_sge = static_cast<int>(sges_.size());
  return &wr_;
}

int Recv::post(ibv_qp* qp) {
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, wr(), &bad);
}

int Recv::post(ibv_srq* srq) {
  ibv_recv_wr* bad = nullptr;
  return ibv_post_srq_recv(srq, wr(), &bad);
}

}  // namespace conformance
