// SPDX-License-Identifier: BSD-2-Clause
#include "pair.h"

#include <poll.h>
#include <sched.h>

#include <chrono>
#include <cstdlib>
#include <string>

namespace rc_errors {
namespace {

constexpr std::chrono::seconds kPatience{30};
constexpr int kPatienceMs = 30000;

}  // namespace

ContextPtr open_device() {
  const char* wanted = std::getenv("URXE_TEST_DEVICE");
  const std::string name = wanted != nullptr ? wanted : "urxe_lo";
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  ContextPtr context;
  for (int i = 0; i < count; ++i) {
    if (name == ibv_get_device_name(devices[i])) context.reset(ibv_open_device(devices[i]));
  }
  ibv_free_device_list(devices);
  return context;
}

int gid_index() {
  const char* wanted = std::getenv("URXE_TEST_GID_INDEX");
  return wanted != nullptr ? std::atoi(wanted) : 0;
}

ibv_gid own_gid(ibv_context* context) {
  ibv_gid gid{};
  EXPECT_EQ(ibv_query_gid(context, kPort, gid_index(), &gid), 0);
  return gid;
}

Memory::Memory(ibv_pd* pd, size_t size, int access)
    : bytes(size), mr(ibv_reg_mr(pd, bytes.data(), size, access)) {
  EXPECT_NE(mr, nullptr);
}

Side::Side(ibv_context* context, const Settings& settings, ibv_comp_channel* channel)
    : pd(ibv_alloc_pd(context)),
      cq(ibv_create_cq(context, settings.cq_entries, nullptr, channel, 0)) {
  ibv_qp_init_attr init{};
  init.send_cq = cq.get();
  init.recv_cq = cq.get();
  init.qp_type = IBV_QPT_RC;
  init.sq_sig_all = 1;
  init.cap = {settings.send_entries, settings.receive_entries, settings.max_sge, settings.max_sge,
              0};
  qp.reset(ibv_create_qp(pd.get(), &init));
  EXPECT_NE(qp, nullptr);
}

ibv_qp_attr init_attributes(const Settings& settings) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  attr.qp_access_flags = static_cast<unsigned>(settings.qp_access);
  return attr;
}

ibv_qp_attr rtr_attributes(const Settings& settings, const ibv_gid& peer_gid,
                           uint32_t peer_number) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = IBV_MTU_1024;
  attr.dest_qp_num = peer_number;
  attr.rq_psn = settings.psn;
  attr.max_dest_rd_atomic = 4;
  attr.min_rnr_timer = settings.min_rnr_timer;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = kPort;
  attr.ah_attr.grh.dgid = peer_gid;
  attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(gid_index());
  attr.ah_attr.grh.hop_limit = 64;
  return attr;
}

ibv_qp_attr rts_attributes(const Settings& settings) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = settings.psn;
  attr.timeout = settings.timeout;
  attr.retry_cnt = settings.retry_count;
  attr.rnr_retry = settings.rnr_retry;
  attr.max_rd_atomic = 4;
  return attr;
}

int modify(ibv_qp* qp, ibv_qp_attr attributes, int mask) {
  return ibv_modify_qp(qp, &attributes, mask);
}

int modify_state(ibv_qp* qp, ibv_qp_state state) {
  ibv_qp_attr attr{};
  attr.qp_state = state;
  return modify(qp, attr, IBV_QP_STATE);
}

ibv_qp_state state_of(ibv_qp* qp) {
  ibv_qp_attr attr{};
  ibv_qp_init_attr init{};
  EXPECT_EQ(ibv_query_qp(qp, &attr, IBV_QP_STATE, &init), 0);
  return attr.qp_state;
}

void to_rtr(ibv_qp* qp, const Settings& settings, const ibv_gid& peer_gid, uint32_t peer_number) {
  ASSERT_EQ(modify(qp, init_attributes(settings), kInitMask), 0);
  ASSERT_EQ(modify(qp, rtr_attributes(settings, peer_gid, peer_number), kRtrMask), 0);
}

void to_rts(ibv_qp* qp, const Settings& settings, const ibv_gid& peer_gid, uint32_t peer_number) {
  to_rtr(qp, settings, peer_gid, peer_number);
  ASSERT_EQ(modify(qp, rts_attributes(settings), kRtsMask), 0);
}

int post_send(ibv_qp* qp, uint64_t id, ibv_sge sge, uint32_t flags) {
  ibv_send_wr request{};
  request.wr_id = id;
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  request.send_flags = flags;
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &request, &bad);
}

int post_rdma(ibv_qp* qp, uint64_t id, ibv_wr_opcode opcode, ibv_sge sge, uint64_t remote_address,
              uint32_t rkey) {
  ibv_send_wr request{};
  request.wr_id = id;
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = opcode;
  request.wr.rdma = {remote_address, rkey};
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &request, &bad);
}

int post_atomic(ibv_qp* qp, uint64_t id, ibv_wr_opcode opcode, ibv_sge sge, uint64_t remote_address,
                uint32_t rkey) {
  ibv_send_wr request{};
  request.wr_id = id;
  request.sg_list = &sge;
  request.num_sge = 1;
  request.opcode = opcode;
  request.wr.atomic = {remote_address, 1, 2, rkey};
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qp, &request, &bad);
}

int post_receive(ibv_qp* qp, uint64_t id, ibv_sge sge) {
  ibv_recv_wr request{};
  request.wr_id = id;
  request.sg_list = &sge;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qp, &request, &bad);
}

ibv_wc next_completion(ibv_cq* cq) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  ibv_wc completion{};
  while (std::chrono::steady_clock::now() < end) {
    const int n = ibv_poll_cq(cq, 1, &completion);
    if (n == 1) return completion;
    if (n < 0) break;
    ::sched_yield();
  }
  ADD_FAILURE() << "no completion came";
  completion.status = IBV_WC_GENERAL_ERR;
  return completion;
}

void expect_completion(ibv_cq* cq, uint64_t id, ibv_wc_status status) {
  const ibv_wc completion = next_completion(cq);
  EXPECT_EQ(completion.wr_id, id);
  EXPECT_EQ(completion.status, status)
      << ibv_wc_status_str(completion.status) << ", expected " << ibv_wc_status_str(status);
}

bool readable(int fd, int wait_ms) {
  pollfd waiting{fd, POLLIN, 0};
  return ::poll(&waiting, 1, wait_ms) == 1;
}

void expect_event(ibv_context* context, ibv_event_type type) {
  ASSERT_TRUE(readable(context->async_fd, kPatienceMs)) << "no asynchronous event came";
  ibv_async_event event{};
  ASSERT_EQ(ibv_get_async_event(context, &event), 0);
  EXPECT_EQ(event.event_type, type) << ibv_event_type_str(event.event_type);
  ibv_ack_async_event(&event);
}

void PairTest::SetUp() {
  context_ = open_device();
  ASSERT_NE(context_, nullptr) << "cannot open the device under test";
  gid_ = own_gid(context_.get());
}

void PairTest::connect(const Settings& settings) {
  settings_ = settings;
  left_ = std::make_unique<Side>(context_.get(), settings);
  right_ = std::make_unique<Side>(context_.get(), settings);
  to_rts(left_->qp.get(), settings, gid_, right_->qp->qp_num);
  to_rts(right_->qp.get(), settings, gid_, left_->qp->qp_num);
}

}  // namespace rc_errors
