// SPDX-License-Identifier: BSD-2-Clause
#include "tests/sim/connect.h"

#include <algorithm>

namespace urxe::sim {

ConnectMasks connect_masks(ibv_qp_type type) {
  constexpr int kUcRtr =
      IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  constexpr int kUcRts = IBV_QP_STATE | IBV_QP_SQ_PSN;
  switch (type) {
    case IBV_QPT_UC:
      return {kInitMask, kUcRtr, kUcRts};
    case IBV_QPT_UD:
      return {IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, IBV_QP_STATE, kUcRts};
    case IBV_QPT_XRC_SEND:
      return {kInitMask, kUcRtr, kRtsMask};
    case IBV_QPT_XRC_RECV:
      return {kInitMask, kRtrMask, kUcRts | IBV_QP_TIMEOUT};
    default:
      return {};
  }
}

ibv_qp_attr init_attributes(const ConnectOptions& options) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.pkey_index = 0;
  attr.port_num = 1;
  attr.qp_access_flags = static_cast<unsigned>(options.access);
  attr.qkey = options.qkey;
  return attr;
}

ibv_qp_attr rtr_attributes(const ConnectOptions& options) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = options.mtu;
  attr.dest_qp_num = options.dest_qpn.value();
  attr.rq_psn = options.rq_psn;
  attr.max_dest_rd_atomic = options.max_dest_rd_atomic;
  attr.min_rnr_timer = options.min_rnr_timer;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = 1;
  std::copy(options.destination.bytes.begin(), options.destination.bytes.end(),
            attr.ah_attr.grh.dgid.raw);
  attr.ah_attr.grh.sgid_index = 0;
  attr.ah_attr.grh.hop_limit = 64;
  return attr;
}

ibv_qp_attr rts_attributes(const ConnectOptions& options) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = options.sq_psn;
  attr.timeout = options.timeout;
  attr.retry_cnt = options.retry_cnt;
  attr.rnr_retry = options.rnr_retry;
  attr.max_rd_atomic = options.max_rd_atomic;
  return attr;
}

bool connect(Device& device, QueuePair& qp, const ConnectOptions& options, Instant now) {
  const ConnectMasks masks = connect_masks(qp.type);
  return device.modify_qp(qp, init_attributes(options), masks.init, now).has_value() &&
         device.modify_qp(qp, rtr_attributes(options), masks.rtr, now).has_value() &&
         device.modify_qp(qp, rts_attributes(options), masks.rts, now).has_value();
}

int change_state(Device& device, QueuePair& qp, ibv_qp_state state, Instant now) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  const auto result = device.modify_qp(qp, attr, IBV_QP_STATE, now);
  return result ? 0 : result.error().value;
}

}  // namespace urxe::sim
