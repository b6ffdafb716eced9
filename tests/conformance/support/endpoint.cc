// SPDX-License-Identifier: BSD-2-Clause
#include "tests/conformance/support/endpoint.h"

namespace conformance {
namespace {

int modify(ibv_qp* qp, ibv_qp_attr attr, int mask) {
  return ibv_modify_qp(qp, &attr, mask);
}

bool is_connected(ibv_qp_type type) {
  return type != IBV_QPT_UD;
}
bool answers_requests(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_XRC_RECV;
}
bool is_retrying(ibv_qp_type type) {
  return type == IBV_QPT_RC || type == IBV_QPT_XRC_SEND;
}

}  // namespace

QpConfig impatient(QpConfig config) {
  config.timeout = 8;  // 1 ms
  config.retry_count = 1;
  config.rnr_retry = 1;
  return config;
}

ibv_qp_attr init_attr(const Device& device, const QpConfig& config) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = device.port;
  attr.qp_access_flags = config.access;
  attr.qkey = config.qkey;
  return attr;
}

ibv_qp_attr rtr_attr(const Device& device, const QpConfig& config, uint32_t peer_qpn) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = device.path_mtu();
  attr.dest_qp_num = peer_qpn;
  attr.rq_psn = config.psn;
  attr.max_dest_rd_atomic = config.rd_atomic;
  attr.min_rnr_timer = config.min_rnr_timer;
  attr.ah_attr = device.own_address();
  return attr;
}

ibv_qp_attr rts_attr(const QpConfig& config) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = config.psn;
  attr.timeout = config.timeout;
  attr.retry_cnt = config.retry_count;
  attr.rnr_retry = config.rnr_retry;
  attr.max_rd_atomic = config.rd_atomic;
  return attr;
}

int init_mask(ibv_qp_type type) {
  const int base = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT;
  return base | (type == IBV_QPT_UD ? IBV_QP_QKEY : IBV_QP_ACCESS_FLAGS);
}

int rtr_mask(ibv_qp_type type) {
  int mask = IBV_QP_STATE;
  if (is_connected(type)) mask |= IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
  if (answers_requests(type)) mask |= IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
  return mask;
}

int rts_mask(ibv_qp_type type) {
  int mask = IBV_QP_STATE | IBV_QP_SQ_PSN;
  if (is_retrying(type))
    mask |= IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
  if (type == IBV_QPT_XRC_RECV) mask |= IBV_QP_TIMEOUT;
  return mask;
}

int to_init(const Device& device, ibv_qp* qp, const QpConfig& config) {
  return modify(qp, init_attr(device, config), init_mask(config.type));
}

int to_rtr(const Device& device, ibv_qp* qp, const QpConfig& config, uint32_t peer_qpn) {
  return modify(qp, rtr_attr(device, config, peer_qpn), rtr_mask(config.type));
}

int to_rts(ibv_qp* qp, const QpConfig& config) {
  return modify(qp, rts_attr(config), rts_mask(config.type));
}

int to_state(ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  return modify(qp, attr, IBV_QP_STATE);
}

void connect(const Device& device, ibv_qp* qp, const QpConfig& config, uint32_t peer_qpn) {
  ASSERT_EQ(to_init(device, qp, config), 0) << "RESET to INIT";
  ASSERT_EQ(to_rtr(device, qp, config, peer_qpn), 0) << "INIT to RTR";
  ASSERT_EQ(to_rts(qp, config), 0) << "RTR to RTS";
}

ibv_qp_state state_of(ibv_qp* qp) {
  return query(qp).qp_state;
}

ibv_qp_attr query(ibv_qp* qp, ibv_qp_init_attr* init) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr unwanted{};
  constexpr int kAll = (IBV_QP_DEST_QPN << 1) - 1;
  EXPECT_EQ(ibv_query_qp(qp, &attr, kAll, init != nullptr ? init : &unwanted), 0);
  return attr;
}

ibv_qp* Endpoint::create(const Device& device, const QpConfig& config, ibv_pd* pd, ibv_cq* send_cq,
                         ibv_cq* recv_cq) {
  ibv_qp_init_attr_ex init{};
  init.qp_context = config.qp_context;
  init.qp_type = config.type;
  init.cap = config.cap;
  init.sq_sig_all = config.sq_sig_all;
  if (config.type == IBV_QPT_XRC_RECV) {
    init.cap = {};
    init.comp_mask = IBV_QP_INIT_ATTR_XRCD;
    init.xrcd = config.xrcd;
    return ibv_create_qp_ex(device.context.get(), &init);
  }
  init.send_cq = send_cq;
  init.comp_mask = IBV_QP_INIT_ATTR_PD;
  init.pd = pd;
  if (config.type == IBV_QPT_XRC_SEND) {
    init.cap.max_recv_wr = init.cap.max_recv_sge = 0;
    return ibv_create_qp_ex(device.context.get(), &init);
  }
  if (config.send_ops != 0) {
    init.recv_cq = recv_cq;
    init.srq = config.srq;
    init.comp_mask |= IBV_QP_INIT_ATTR_SEND_OPS_FLAGS;
    init.send_ops_flags = config.send_ops;
    return ibv_create_qp_ex(device.context.get(), &init);
  }
  ibv_qp_init_attr plain{config.qp_context, send_cq,     recv_cq,          config.srq,
                         config.cap,        config.type, config.sq_sig_all};
  return ibv_create_qp(pd, &plain);
}

Endpoint::Endpoint(const Device& under_test, const QpConfig& wanted)
    : device(&under_test), config(wanted) {
  ibv_context* context = device->context.get();
  if (config.pd == nullptr) own_pd.reset(ibv_alloc_pd(context));
  pd = config.pd != nullptr ? config.pd : own_pd.get();
  EXPECT_NE(pd, nullptr) << "ibv_alloc_pd: " << std::strerror(errno);
  send_cq.reset(ibv_create_cq(context, config.cq_entries, nullptr, config.send_channel, 0));
  recv_cq.reset(ibv_create_cq(context, config.cq_entries, nullptr, config.recv_channel, 0));
  EXPECT_NE(send_cq, nullptr) << "ibv_create_cq: " << std::strerror(errno);
  EXPECT_NE(recv_cq, nullptr) << "ibv_create_cq: " << std::strerror(errno);
  qp.reset(create(*device, config, pd, send_cq.get(), recv_cq.get()));
  EXPECT_NE(qp, nullptr) << "the queue pair cannot be created: " << std::strerror(errno);
}

}  // namespace conformance
