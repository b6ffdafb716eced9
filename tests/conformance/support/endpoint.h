// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <memory>

#include "tests/conformance/support/buffer.h"
#include "tests/conformance/support/device.h"

namespace conformance {

/// How a queue pair is made and connected.
struct QpConfig {
  ibv_qp_type type = IBV_QPT_RC;
  ibv_qp_cap cap{32, 32, 4, 4, 0};
  int sq_sig_all = 1;
  int cq_entries = 256;
  ibv_srq* srq = nullptr;
  ibv_xrcd* xrcd = nullptr;  ///< of an XRC_RECV queue pair
  ibv_pd* pd = nullptr;      ///< null: one of its own
  void* qp_context = nullptr;
  uint64_t send_ops = 0;  ///< operations to build (IBV_QP_INIT_ATTR_SEND_OPS_FLAGS); 0: no builders
  ibv_comp_channel* send_channel = nullptr;
  ibv_comp_channel* recv_channel = nullptr;
  unsigned access = kRemoteAccess;
  uint32_t psn = 0xfffffe;  ///< so that all tests cross the wrap
  uint8_t timeout = 14;     ///< 67 ms
  uint8_t retry_count = 7;
  uint8_t rnr_retry = 7;
  uint8_t min_rnr_timer = 1;  ///< 10 us
  uint8_t rd_atomic = 4;      ///< both as requester and as responder
  uint32_t qkey = 0x11223344;
};

/// Fails soon towards a peer that does not answer.
QpConfig impatient(QpConfig config = {});

// The attributes of the transitions, and the masks that the man page requires.
ibv_qp_attr init_attr(const Device& device, const QpConfig& config);
ibv_qp_attr rtr_attr(const Device& device, const QpConfig& config, uint32_t peer_qpn);
ibv_qp_attr rts_attr(const QpConfig& config);
int init_mask(ibv_qp_type type);
int rtr_mask(ibv_qp_type type);
int rts_mask(ibv_qp_type type);

// These return what ibv_modify_qp does.
int to_init(const Device& device, ibv_qp* qp, const QpConfig& config);
int to_rtr(const Device& device, ibv_qp* qp, const QpConfig& config, uint32_t peer_qpn);
int to_rts(ibv_qp* qp, const QpConfig& config);
int to_state(ibv_qp* qp, ibv_qp_state state);
/// All three transitions; failures are the test's.
void connect(const Device& device, ibv_qp* qp, const QpConfig& config, uint32_t peer_qpn);
ibv_qp_state state_of(ibv_qp* qp);
/// What ibv_query_qp returns for all attributes.
ibv_qp_attr query(ibv_qp* qp, ibv_qp_init_attr* init = nullptr);

/// A queue pair with a protection domain and completion queues of its own.
struct Endpoint {
  Endpoint(const Device& device, const QpConfig& config);
  /// Makes the queue pair with the verb that its type needs; null and errno where that fails.
  static ibv_qp* create(const Device& device, const QpConfig& config, ibv_pd* pd, ibv_cq* send_cq,
                        ibv_cq* recv_cq);

  uint32_t number() const { return qp->qp_num; }
  /// RESET to RTS, facing the peer.
  void connect_to(uint32_t peer_qpn) { connect(*device, qp.get(), config, peer_qpn); }

  const Device* device;
  QpConfig config;
  PdPtr own_pd;
  ibv_pd* pd;
  CqPtr send_cq;
  CqPtr recv_cq;
  QpPtr qp;
};

}  // namespace conformance
