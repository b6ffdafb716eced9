// SPDX-License-Identifier: BSD-2-Clause
#include "transitions.h"

#include "failure.h"

namespace rc_verify {
namespace {

ibv_mtu mtu_of(uint32_t bytes) {
  switch (bytes) {
    case 256:
      return IBV_MTU_256;
    case 512:
      return IBV_MTU_512;
    case 1024:
      return IBV_MTU_1024;
    case 2048:
      return IBV_MTU_2048;
    default:
      return IBV_MTU_4096;
  }
}

void check_modify(int error, const char* state) {
  if (error != 0) setup_failed(format("ibv_modify_qp to %s: error %d", state, error));
}

void to_init(ibv_qp* qp, const Connection& connection) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  attr.qp_access_flags = IBV_ACCESS_REMOTE_WRITE;
  if (connection.transport == Transport::kReliable)
    attr.qp_access_flags |= IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_ATOMIC;
  check_modify(ibv_modify_qp(qp, &attr,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
               "INIT");
}

void to_rtr(ibv_qp* qp, const Connection& connection) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = mtu_of(connection.path_mtu);
  attr.dest_qp_num = connection.peer.qp_number;
  attr.rq_psn = connection.peer.psn;
  attr.max_dest_rd_atomic = static_cast<uint8_t>(connection.reads_taken);
  attr.min_rnr_timer = static_cast<uint8_t>(connection.min_rnr_timer);
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid = connection.peer.gid;
  attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(connection.gid_index);
  attr.ah_attr.grh.hop_limit = 64;
  attr.ah_attr.port_num = kPort;
  int mask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (connection.transport == Transport::kReliable)
    mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  check_modify(ibv_modify_qp(qp, &attr, mask), "RTR");
}

void to_rts(ibv_qp* qp, const Connection& connection) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = connection.psn;
  attr.timeout = static_cast<uint8_t>(connection.timeout);
  attr.retry_cnt = 7;
  attr.rnr_retry = static_cast<uint8_t>(connection.rnr_retry);
  attr.max_rd_atomic = static_cast<uint8_t>(connection.reads);
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (connection.transport == Transport::kReliable)
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  check_modify(ibv_modify_qp(qp, &attr, mask), "RTS");
}

}  // namespace

void connect_queue_pair(ibv_qp* qp, const Connection& connection) {
  to_init(qp, connection);
  to_rtr(qp, connection);
  to_rts(qp, connection);
}

}  // namespace rc_verify
