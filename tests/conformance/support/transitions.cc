// SPDX-License-Identifier: BSD-2-Clause
#include "tests/conformance/support/transitions.h"

#include "tests/conformance/support/completion.h"
#include "tests/conformance/support/work_request.h"

namespace conformance {
namespace {

// What the types differ in.
struct Attributes {
  int init;          // RESET to INIT: required; INIT to INIT: optional
  int rtr_required;  // INIT to RTR
  int rtr_optional;  //
  int rts_required;  // RTR to RTS
  int rts_optional;  // RTR, RTS or SQD to RTS
  int sqd_optional;  // SQD to SQD
  int sqe_optional;  // SQE to RTS; only where is_recoverable()
};

constexpr int kPath = IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN;
constexpr int kResponder = IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kRequester =
    IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
constexpr int kConnectedInit = IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kConnectedRtr = IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX;
constexpr int kConnectedRts =
    IBV_QP_CUR_STATE | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PATH_MIG_STATE;
constexpr int kConnectedSqd =
    IBV_QP_AV | IBV_QP_ALT_PATH | IBV_QP_ACCESS_FLAGS | IBV_QP_PKEY_INDEX | IBV_QP_PATH_MIG_STATE;

bool is_recoverable(ibv_qp_type type) {
  return type == IBV_QPT_UC || type == IBV_QPT_UD;
}

Attributes attributes_of(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_UD:
      return {IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY,
              0,
              IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
              IBV_QP_SQ_PSN,
              IBV_QP_CUR_STATE | IBV_QP_QKEY,
              IBV_QP_PKEY_INDEX | IBV_QP_QKEY,
              IBV_QP_CUR_STATE | IBV_QP_QKEY};
    case IBV_QPT_UC:
      return {kConnectedInit,
              kPath,
              kConnectedRtr,
              IBV_QP_SQ_PSN,
              kConnectedRts,
              kConnectedSqd,
              IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS};
    case IBV_QPT_XRC_SEND:
      return {kConnectedInit,
              kPath,
              kConnectedRtr,
              IBV_QP_SQ_PSN | kRequester,
              kConnectedRts,
              kConnectedSqd | IBV_QP_PORT | kRequester,
              0};
    case IBV_QPT_XRC_RECV:
      return {kConnectedInit,
              kPath | kResponder,
              kConnectedRtr,
              IBV_QP_SQ_PSN | IBV_QP_TIMEOUT,
              kConnectedRts | IBV_QP_MIN_RNR_TIMER,
              kConnectedSqd | IBV_QP_PORT | IBV_QP_TIMEOUT | kResponder,
              0};
    default:
      return {kConnectedInit,
              kPath | kResponder,
              kConnectedRtr,
              IBV_QP_SQ_PSN | kRequester,
              kConnectedRts | IBV_QP_MIN_RNR_TIMER,
              kConnectedSqd | IBV_QP_PORT | kRequester | kResponder,
              0};
  }
}

// A send that fails before it leaves takes the queue pair to SQE.
void break_send_queue(Endpoint& endpoint) {
  Send bad(0);
  if (endpoint.config.type == IBV_QPT_UD) {
    ibv_ah_attr address = endpoint.device->own_address();
    const AhPtr ah(ibv_create_ah(endpoint.pd, &address));
    bad.data({0x1000, 8, 0x12345678}).to(ah.get(), endpoint.number(), endpoint.config.qkey);
    ASSERT_EQ(bad.post(endpoint.qp.get()), 0);
    expect_completion(endpoint.send_cq.get(), 0, IBV_WC_LOC_PROT_ERR);
    return;
  }
  ASSERT_EQ(bad.data({0x1000, 8, 0x12345678}).post(endpoint.qp.get()), 0);
  expect_completion(endpoint.send_cq.get(), 0, IBV_WC_LOC_PROT_ERR);
}

void drain(Endpoint& endpoint) {
  ASSERT_EQ(to_state(endpoint.qp.get(), IBV_QPS_SQD), 0);
  ASSERT_TRUE(eventually([&] { return query(endpoint.qp.get()).sq_draining == 0; }));
}

}  // namespace

std::vector<Transition> transitions_of(ibv_qp_type type) {
  const Attributes its = attributes_of(type);
  std::vector<Transition> all{
      {IBV_QPS_RESET, IBV_QPS_INIT, its.init, 0},
      {IBV_QPS_INIT, IBV_QPS_INIT, 0, its.init},
      {IBV_QPS_INIT, IBV_QPS_RTR, its.rtr_required, its.rtr_optional},
      {IBV_QPS_RTR, IBV_QPS_RTS, its.rts_required, its.rts_optional},
      {IBV_QPS_RTS, IBV_QPS_RTS, 0, its.rts_optional},
      {IBV_QPS_ERR, IBV_QPS_ERR, 0, 0},
  };
  if (type != IBV_QPT_XRC_RECV) {
    all.push_back({IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY});
    all.push_back({IBV_QPS_SQD, IBV_QPS_SQD, 0, its.sqd_optional});
    all.push_back({IBV_QPS_SQD, IBV_QPS_RTS, 0, its.rts_optional});
  }
  if (is_recoverable(type)) all.push_back({IBV_QPS_SQE, IBV_QPS_RTS, 0, its.sqe_optional});
  for (const ibv_qp_state from : states_of(type)) {
    all.push_back({from, IBV_QPS_RESET, 0, 0});
    if (from != IBV_QPS_RESET && from != IBV_QPS_ERR) all.push_back({from, IBV_QPS_ERR, 0, 0});
  }
  return all;
}

const Transition* find_transition(const std::vector<Transition>& all, ibv_qp_state from,
                                  ibv_qp_state to) {
  for (const Transition& one : all) {
    if (one.from == from && one.to == to) return &one;
  }
  return nullptr;
}

std::vector<ibv_qp_state> states_of(ibv_qp_type type) {
  std::vector<ibv_qp_state> states{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QPS_RTR, IBV_QPS_RTS,
                                   IBV_QPS_ERR};
  // The specification gives a queue pair without a send queue no states of one.
  if (type != IBV_QPT_XRC_RECV) states.push_back(IBV_QPS_SQD);
  if (is_recoverable(type)) states.push_back(IBV_QPS_SQE);
  return states;
}

const char* state_name(ibv_qp_state state) {
  constexpr const char* kNames[] = {"RESET", "INIT", "RTR", "RTS", "SQD", "SQE", "ERR"};
  return state <= IBV_QPS_ERR ? kNames[state] : "?";
}

void bring_to(Endpoint& endpoint, ibv_qp_state state) {
  ibv_qp* qp = endpoint.qp.get();
  if (state == IBV_QPS_RESET) return;
  ASSERT_EQ(to_init(*endpoint.device, qp, endpoint.config), 0);
  if (state == IBV_QPS_INIT) return;
  if (state == IBV_QPS_ERR) {
    ASSERT_EQ(to_state(qp, IBV_QPS_ERR), 0);
    return;
  }
  ASSERT_EQ(to_rtr(*endpoint.device, qp, endpoint.config, endpoint.number()), 0);
  if (state == IBV_QPS_RTR) return;
  ASSERT_EQ(to_rts(qp, endpoint.config), 0);
  if (state == IBV_QPS_SQD) drain(endpoint);
  if (state == IBV_QPS_SQE) break_send_queue(endpoint);
}

ibv_qp_attr all_attributes(const Endpoint& endpoint) {
  const Device& device = *endpoint.device;
  ibv_qp_attr attr = rtr_attr(device, endpoint.config, endpoint.number());
  const ibv_qp_attr init = init_attr(device, endpoint.config);
  const ibv_qp_attr rts = rts_attr(endpoint.config);
  attr.port_num = init.port_num;
  attr.qp_access_flags = init.qp_access_flags;
  attr.qkey = init.qkey;
  attr.sq_psn = rts.sq_psn;
  attr.timeout = rts.timeout;
  attr.retry_cnt = rts.retry_cnt;
  attr.rnr_retry = rts.rnr_retry;
  attr.max_rd_atomic = rts.max_rd_atomic;
  attr.alt_ah_attr = attr.ah_attr;
  attr.alt_port_num = device.port;
  attr.alt_timeout = rts.timeout;
  attr.path_mig_state = IBV_MIG_REARM;
  attr.cap = endpoint.config.cap;
  return attr;
}

}  // namespace conformance
