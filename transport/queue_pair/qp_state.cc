// SPDX-License-Identifier: BSD-2-Clause
#include "transport/queue_pair/qp_state.h"

#include <array>

namespace urxe {
namespace {

constexpr unsigned kRc = 1, kUc = 2, kUd = 4, kIni = 8, kTgt = 16, kRaw = 32;
constexpr unsigned kReliable = kRc | kIni | kTgt;
constexpr unsigned kConnected = kReliable | kUc;
constexpr unsigned kSends = kRc | kUc | kUd | kIni | kRaw;

/// The masks of one transition, for some types of queue pairs. The rows that name a type add up.
struct Row {
  ibv_qp_state from;
  ibv_qp_state to;
  unsigned types;
  int required;
  int optional;
};

constexpr int kConnectedOptional =
    IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH | IBV_QP_PATH_MIG_STATE;
constexpr int kDatagramOptional = IBV_QP_CUR_STATE | IBV_QP_QKEY;

// IBTA vol. 1, table 93 (QP state transition properties), XRC: annex A14.
constexpr std::array kRows{
    Row{IBV_QPS_RESET, IBV_QPS_INIT, kConnected,
        IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS, 0},
    Row{IBV_QPS_RESET, IBV_QPS_INIT, kUd, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY, 0},

    Row{IBV_QPS_INIT, IBV_QPS_INIT, kConnected, 0,
        IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS},
    Row{IBV_QPS_INIT, IBV_QPS_INIT, kUd, 0, IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_QKEY},

    Row{IBV_QPS_INIT, IBV_QPS_RTR, kConnected,
        IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN | IBV_QP_RQ_PSN,
        IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH},
    Row{IBV_QPS_INIT, IBV_QPS_RTR, kRc | kTgt, IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER, 0},
    Row{IBV_QPS_INIT, IBV_QPS_RTR, kUd, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},

    Row{IBV_QPS_RTR, IBV_QPS_RTS, kConnected, IBV_QP_SQ_PSN, kConnectedOptional},
    Row{IBV_QPS_RTR, IBV_QPS_RTS, kRc | kIni,
        IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC, 0},
    Row{IBV_QPS_RTR, IBV_QPS_RTS, kTgt, IBV_QP_TIMEOUT, 0},
    Row{IBV_QPS_RTR, IBV_QPS_RTS, kRc | kTgt, 0, IBV_QP_MIN_RNR_TIMER},
    Row{IBV_QPS_RTR, IBV_QPS_RTS, kUd, IBV_QP_SQ_PSN, kDatagramOptional},

    Row{IBV_QPS_RTS, IBV_QPS_RTS, kConnected, 0, kConnectedOptional},
    Row{IBV_QPS_RTS, IBV_QPS_RTS, kRc | kTgt, 0, IBV_QP_MIN_RNR_TIMER},
    Row{IBV_QPS_RTS, IBV_QPS_RTS, kUd, 0, kDatagramOptional},

    // Beyond the table: packet pacing.
    Row{IBV_QPS_RTR, IBV_QPS_RTS, kSends, 0, IBV_QP_RATE_LIMIT},
    Row{IBV_QPS_RTS, IBV_QPS_RTS, kSends, 0, IBV_QP_RATE_LIMIT},

    Row{IBV_QPS_RTS, IBV_QPS_SQD, kConnected | kUd, 0, IBV_QP_EN_SQD_ASYNC_NOTIFY},

    Row{IBV_QPS_SQD, IBV_QPS_RTS, kConnected, 0, kConnectedOptional},
    Row{IBV_QPS_SQD, IBV_QPS_RTS, kRc | kTgt, 0, IBV_QP_MIN_RNR_TIMER},
    Row{IBV_QPS_SQD, IBV_QPS_RTS, kUd, 0, kDatagramOptional},

    Row{IBV_QPS_SQD, IBV_QPS_SQD, kConnected, 0,
        IBV_QP_AV | IBV_QP_PKEY_INDEX | IBV_QP_ACCESS_FLAGS | IBV_QP_ALT_PATH |
            IBV_QP_PATH_MIG_STATE},
    Row{IBV_QPS_SQD, IBV_QPS_SQD, kReliable, 0, IBV_QP_PORT | IBV_QP_TIMEOUT},
    Row{IBV_QPS_SQD, IBV_QPS_SQD, kRc | kIni, 0,
        IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC},
    Row{IBV_QPS_SQD, IBV_QPS_SQD, kRc | kTgt, 0, IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER},
    Row{IBV_QPS_SQD, IBV_QPS_SQD, kUd, 0, IBV_QP_PKEY_INDEX | IBV_QP_QKEY},

    Row{IBV_QPS_SQE, IBV_QPS_RTS, kUc, 0, IBV_QP_CUR_STATE | IBV_QP_ACCESS_FLAGS},
    Row{IBV_QPS_SQE, IBV_QPS_RTS, kUd, 0, kDatagramOptional},

    // Raw packets: as the kernel has them.
    Row{IBV_QPS_RESET, IBV_QPS_INIT, kRaw, IBV_QP_PORT, 0},
    Row{IBV_QPS_INIT, IBV_QPS_INIT, kRaw, 0, 0},
    Row{IBV_QPS_INIT, IBV_QPS_RTR, kRaw, 0, 0},
    Row{IBV_QPS_RTR, IBV_QPS_RTS, kRaw, 0, 0},
    Row{IBV_QPS_RTS, IBV_QPS_RTS, kRaw, 0, 0},
    Row{IBV_QPS_RTS, IBV_QPS_SQD, kRaw, 0, 0},
    Row{IBV_QPS_SQD, IBV_QPS_RTS, kRaw, 0, 0},
    Row{IBV_QPS_SQD, IBV_QPS_SQD, kRaw, 0, 0},
    Row{IBV_QPS_SQE, IBV_QPS_RTS, kRaw, 0, 0},
};

unsigned type_bit(ibv_qp_type type) {
  switch (type) {
    case IBV_QPT_RC:
      return kRc;
    case IBV_QPT_UC:
      return kUc;
    case IBV_QPT_UD:
      return kUd;
    case IBV_QPT_XRC_SEND:
      return kIni;
    case IBV_QPT_XRC_RECV:
      return kTgt;
    case IBV_QPT_RAW_PACKET:
      return kRaw;
    default:
      return 0;
  }
}

}  // namespace

int without_ignored(ibv_qp_type type, int mask) {
  switch (type) {
    case IBV_QPT_XRC_SEND:
      return mask & ~(IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER);
    case IBV_QPT_XRC_RECV:
      return mask & ~(IBV_QP_MAX_QP_RD_ATOMIC | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY);
    default:
      return mask;
  }
}

TransitionMasks transition_masks(ibv_qp_type type, ibv_qp_state from, ibv_qp_state to) {
  if (to == IBV_QPS_RESET) return {true, 0, 0};
  if (to == IBV_QPS_ERR) return {from != IBV_QPS_RESET, 0, 0};
  TransitionMasks masks;
  for (const Row& row : kRows) {
    if (row.from != from || row.to != to || (row.types & type_bit(type)) == 0) continue;
    masks.legal = true;
    masks.required |= row.required;
    masks.optional |= row.optional;
  }
  return masks;
}

}  // namespace urxe
