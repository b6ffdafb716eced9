// SPDX-License-Identifier: BSD-2-Clause
#include "transport/qp_state.h"

#include <array>

namespace urxe {
namespace {

struct Row {
  ibv_qp_state from;
  ibv_qp_state to;
  int required;
  int optional;
};

constexpr int kRtsOptional = IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER |
                             IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;

// IBTA vol. 1, table 93 (RC rows).
constexpr std::array kRcRows{
    Row{IBV_QPS_RESET, IBV_QPS_INIT, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    Row{IBV_QPS_INIT, IBV_QPS_INIT, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    Row{IBV_QPS_INIT, IBV_QPS_RTR,
        IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC |
            IBV_QP_MIN_RNR_TIMER,
        IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH},
    Row{IBV_QPS_RTR, IBV_QPS_RTS,
        IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
            IBV_QP_MAX_QP_RD_ATOMIC,
        kRtsOptional},
    Row{IBV_QPS_RTS, IBV_QPS_RTS, 0, kRtsOptional},
    Row{IBV_QPS_RTS, IBV_QPS_SQD, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},
    Row{IBV_QPS_SQD, IBV_QPS_RTS, 0, kRtsOptional},
    Row{IBV_QPS_SQD, IBV_QPS_SQD, 0,
        IBV_QP_PORT | IBV_QP_AV | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
            IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_PKEY_INDEX |
            IBV_QP_ACCESS_FLAGS | IBV_QP_MIN_RNR_TIMER | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE},
};

}  // namespace

TransitionMasks transition_masks(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET) return {true, 0, 0};
  if (to == IBV_QPS_ERR) return {from != IBV_QPS_RESET, 0, 0};
  if (type != IBV_QPT_RC) return {};
  for (const Row& row : kRcRows) {
    if (row.from == from && row.to == to) return {true, row.required, row.optional};
  }
  return {};
}

}  // namespace urxe
