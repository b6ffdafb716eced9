// SPDX-License-Identifier: BSD-2-Clause
// Two RC queue pairs of one process, connected over the device under test, and what the tests do
// with them.
#pragma once

#include <gtest/gtest.h>
#include <infiniband/verbs.h>

#include <cstdint>
#include <vector>

#include "tests/apps/verbs_pointers.h"

namespace rc_errors {

using verbs::ChannelPtr;
using verbs::ContextPtr;
using verbs::CqPtr;
using verbs::MrPtr;
using verbs::PdPtr;
using verbs::QpPtr;

inline constexpr uint8_t kPort = 1;
inline constexpr int kAllAccess = IBV_ACCESS_LOCAL_WRITE | IBV_ACCESS_REMOTE_READ |
                                  IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;

// Opens the device named by URXE_TEST_DEVICE (urxe_lo), whose GID of index URXE_TEST_GID_INDEX (0)
// the tests use.
ContextPtr open_device();
int gid_index();
ibv_gid own_gid(ibv_context* context);

struct Settings {
  uint32_t send_entries = 32;
  uint32_t receive_entries = 32;
  uint32_t max_sge = 4;
  int cq_entries = 256;
  int qp_access = IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  uint8_t timeout = 14;
  uint8_t retry_count = 7;
  uint8_t rnr_retry = 7;
  uint8_t min_rnr_timer = 1;  // 10 us
  uint32_t psn = 0xfffffe;
};

// Registered memory.
struct Memory {
  Memory(ibv_pd* pd, size_t size, int access = kAllAccess);
  uint64_t address() const { return reinterpret_cast<uint64_t>(bytes.data()); }
  ibv_sge sge(uint32_t length) const { return {address(), length, mr->lkey}; }

  std::vector<uint8_t> bytes;
  MrPtr mr;
};

// A queue pair with a protection domain and a completion queue of its own.
struct Side {
  Side(ibv_context* context, const Settings& settings, ibv_comp_channel* channel = nullptr);

  PdPtr pd;
  CqPtr cq;
  QpPtr qp;
};

// Modifications with the attributes that the transition requires; they return what ibv_modify_qp
// does.
ibv_qp_attr init_attributes(const Settings& settings);
ibv_qp_attr rtr_attributes(const Settings& settings, const ibv_gid& peer_gid, uint32_t peer_number);
ibv_qp_attr rts_attributes(const Settings& settings);
inline constexpr int kInitMask =
    IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
inline constexpr int kRtrMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
inline constexpr int kRtsMask = IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC;
int modify(ibv_qp* qp, ibv_qp_attr attributes, int mask);
int modify_state(ibv_qp* qp, ibv_qp_state state);
ibv_qp_state state_of(ibv_qp* qp);

// Takes the queue pair from RESET to RTR or RTS, facing the peer.
void to_rtr(ibv_qp* qp, const Settings& settings, const ibv_gid& peer_gid, uint32_t peer_number);
void to_rts(ibv_qp* qp, const Settings& settings, const ibv_gid& peer_gid, uint32_t peer_number);

// Requests, all signaled. They return what ibv_post_send or ibv_post_recv does.
int post_send(ibv_qp* qp, uint64_t id, ibv_sge sge, uint32_t flags = 0);
int post_rdma(ibv_qp* qp, uint64_t id, ibv_wr_opcode opcode, ibv_sge sge, uint64_t remote_address,
              uint32_t rkey);
int post_atomic(ibv_qp* qp, uint64_t id, ibv_wr_opcode opcode, ibv_sge sge, uint64_t remote_address,
                uint32_t rkey);
int post_receive(ibv_qp* qp, uint64_t id, ibv_sge sge);

// The next completion. After 30 s without any: a test failure, and a completion of status
// GENERAL_ERR.
ibv_wc next_completion(ibv_cq* cq);
// The next completion must have this wr_id and status.
void expect_completion(ibv_cq* cq, uint64_t id, ibv_wc_status status);
// Whether the file descriptor is readable within the time.
bool readable(int fd, int wait_ms);
// The next asynchronous event must be of this type; acknowledges it.
void expect_event(ibv_context* context, ibv_event_type type);

class PairTest : public ::testing::Test {
 protected:
  void SetUp() override;
  // Makes and connects both sides.
  void connect(const Settings& settings = {});

  ContextPtr context_;
  ibv_gid gid_{};
  Settings settings_;
  std::unique_ptr<Side> left_;
  std::unique_ptr<Side> right_;
};

}  // namespace rc_errors
