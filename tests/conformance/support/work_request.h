// SPDX-License-Identifier: BSD-2-Clause
// Work requests, put together part by part: Send(1).data(buffer.sge()).post(qp).
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <utility>
#include <vector>

namespace conformance {

class Send {
 public:
  explicit Send(uint64_t id, ibv_wr_opcode opcode = IBV_WR_SEND) {
    wr_.wr_id = id;
    wr_.opcode = opcode;
  }
  /// Adds a scatter/gather element.
  Send& data(ibv_sge sge) {
    sges_.push_back(sge);
    return *this;
  }
  Send& flags(unsigned flags) {
    wr_.send_flags |= flags;
    return *this;
  }
  /// Immediate data, in host order.
  Send& imm(uint32_t value);
  /// The key that the peer is to invalidate, or (LOCAL_INV) we ourselves.
  Send& invalidate(uint32_t rkey) {
    wr_.invalidate_rkey = rkey;
    return *this;
  }
  Send& remote(uint64_t address, uint32_t rkey) {
    wr_.wr.rdma = {address, rkey};
    return *this;
  }
  Send& atomic(uint64_t address, uint32_t rkey, uint64_t compare_add, uint64_t swap = 0) {
    wr_.wr.atomic = {address, compare_add, swap, rkey};
    return *this;
  }
  Send& to(ibv_ah* ah, uint32_t qp_num, uint32_t qkey) {
    wr_.wr.ud = {ah, qp_num, qkey};
    return *this;
  }
  Send& srq(uint32_t number) {
    wr_.qp_type.xrc.remote_srqn = number;
    return *this;
  }
  Send& bind(ibv_mw* mw, uint32_t rkey, const ibv_mw_bind_info& info) {
    wr_.bind_mw = {mw, rkey, info};
    return *this;
  }
  /// What ibv_post_send returns.
  int post(ibv_qp* qp);
  /// The request itself, to be linked with others; valid while this object lives.
  ibv_send_wr* wr();

 private:
  ibv_send_wr wr_{};
  std::vector<ibv_sge> sges_;
};

class Recv {
 public:
  explicit Recv(uint64_t id) { wr_.wr_id = id; }
  Recv& data(ibv_sge sge) {
    sges_.push_back(sge);
    return *this;
  }
  /// What ibv_post_recv or ibv_post_srq_recv returns.
  int post(ibv_qp* qp);
  int post(ibv_srq* srq);
  ibv_recv_wr* wr();

 private:
  ibv_recv_wr wr_{};
  std::vector<ibv_sge> sges_;
};

}  // namespace conformance
