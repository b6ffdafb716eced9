// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include "transport/device/device.h"
#include "transport/later_verbs.h"

namespace urxe::sim {

/// What one side of a connection is brought up with.
struct ConnectOptions {
  Gid destination;
  Qpn dest_qpn;
  ibv_mtu mtu = IBV_MTU_1024;
  uint32_t sq_psn = 0;
  uint32_t rq_psn = 0;
  uint8_t timeout = 14;
  uint8_t retry_cnt = 7;
  uint8_t rnr_retry = 7;
  uint8_t min_rnr_timer = 1;
  uint8_t max_rd_atomic = 16;
  uint8_t max_dest_rd_atomic = 16;
  uint32_t qkey = 0;  ///< UD
  int access = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE |
               IBV_ACCESS_REMOTE_ATOMIC | kAccessFlushGlobal;
};

// The attributes and masks that the three transitions need (ibv_modify_qp(3)).
inline constexpr int kInitMask =
    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
inline constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kRtsMask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC |
                                IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY | IBV_QP_TIMEOUT;

/// The masks of RESET to INIT, INIT to RTR and RTR to RTS, by type of queue pair.
struct ConnectMasks {
  int init = kInitMask;
  int rtr = kRtrMask;
  int rts = kRtsMask;
};
ConnectMasks connect_masks(ibv_qp_type type);

ibv_qp_attr init_attributes(const ConnectOptions& options);
ibv_qp_attr rtr_attributes(const ConnectOptions& options);
ibv_qp_attr rts_attributes(const ConnectOptions& options);

/// RESET to RTS, for any type. False: a transition was refused.
bool connect(Device& device, QueuePair& qp, const ConnectOptions& options, Instant now);

/// To ERR, RESET, ...: transitions that take no attribute. 0 or an errno.
int change_state(Device& device, QueuePair& qp, ibv_qp_state state, Instant now);

}  // namespace urxe::sim
