// SPDX-License-Identifier: BSD-2-Clause
#include "tests/bench/verbs_end.h"

#include <cstdio>
#include <cstdlib>

namespace bench {

namespace {

constexpr int kAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_READ;

void modify(ibv_qp* qp, ibv_qp_attr attr, int mask, const char* what) {
  attr.port_num = 1;
  check(ibv_modify_qp(qp, &attr, mask) == 0, what);
}

void to_init(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.qp_access_flags = kAccess;
  modify(qp, attr, IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, "INIT");
}

void to_rtr(ibv_qp* qp, ibv_mtu mtu, uint32_t peer_qpn, const ibv_gid& peer_gid, int gid_index) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = mtu;
  attr.dest_qp_num = peer_qpn;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid = peer_gid;
  attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(gid_index);
  attr.ah_attr.grh.hop_limit = 64;
  attr.ah_attr.port_num = 1;
  modify(qp, attr,
         IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN |
             IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER,
         "RTR");
}

void to_rts(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = 14;
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = 1;
  modify(qp, attr,
         IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_SQ_PSN |
             IBV_QP_MAX_QP_RD_ATOMIC,
         "RTS");
}

}  // namespace

void check(bool good, const char* what) {
  if (good) return;
  std::perror(what);
  std::exit(1);
}

Device open_first_device(int gid_index) {
  ibv_device** devices = ibv_get_device_list(nullptr);
  check(devices != nullptr && devices[0] != nullptr, "ibv_get_device_list");
  Device device{ibv_open_device(devices[0]), nullptr, {}};
  check(device.context != nullptr, "ibv_open_device");
  device.pd = ibv_alloc_pd(device.context);
  check(device.pd != nullptr, "ibv_alloc_pd");
  check(ibv_query_gid(device.context, 1, gid_index, &device.gid) == 0, "ibv_query_gid");
  return device;
}

ibv_mr* register_memory(const Device& device, void* start, size_t bytes) {
  ibv_mr* const region = ibv_reg_mr(device.pd, start, bytes, kAccess);
  check(region != nullptr, "ibv_reg_mr");
  return region;
}

ibv_cq* make_cq(const Device& device, int entries) {
  ibv_cq* const cq = ibv_create_cq(device.context, entries, nullptr, nullptr, 0);
  check(cq != nullptr, "ibv_create_cq");
  return cq;
}

ibv_qp* make_qp(const Device& device, ibv_cq* cq, uint32_t depth) {
  ibv_qp_init_attr init{};
  init.send_cq = init.recv_cq = cq;
  init.cap = {depth, 1, 1, 1, 0};
  init.qp_type = IBV_QPT_RC;
  ibv_qp* const qp = ibv_create_qp(device.pd, &init);
  check(qp != nullptr, "ibv_create_qp");
  return qp;
}

void connect(const Device& device, ibv_qp* qp, uint32_t peer_qpn, const ibv_gid& peer_gid,
             int gid_index) {
  ibv_port_attr port{};
  check(ibv_query_port(device.context, 1, &port) == 0, "ibv_query_port");
  to_init(qp);
  to_rtr(qp, port.active_mtu, peer_qpn, peer_gid, gid_index);
  to_rts(qp);
}

}  // namespace bench
