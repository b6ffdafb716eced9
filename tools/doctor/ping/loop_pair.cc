// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/ping/loop_pair.h"

#include <fmt/format.h>

#include <cerrno>
#include <cstring>

#include "packet/host/clock.h"

namespace urxe::doctor {
namespace {

constexpr uint8_t kPort = 1;
constexpr int kQueueLength = 4;
/// 4.096 us * 2^16, 0.27 s: longer than a busy machine keeps a process waiting, mostly.
constexpr uint8_t kAckTimeout = 16;
constexpr uint8_t kRetries = 3;
/// Longer than the retries take: one second, or five on a crowded host, where the first four
/// seconds of silence cost none.
constexpr Duration kPatience = seconds(8);
constexpr uint8_t kRnrRetries = 7;  // without end
constexpr uint8_t kRnrTimer = 12;

Unexpected<std::string> failed(const char* what, int errno_value) {
  return Unexpected<std::string>(fmt::format("{}: {}", what, std::strerror(errno_value)));
}

ibv_qp_attr to_init() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  return attr;
}

ibv_qp_attr to_receive(const ibv_qp* peer, int gid_index, const ibv_gid& gid, ibv_mtu mtu) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = mtu;
  attr.dest_qp_num = peer->qp_num;
  attr.max_dest_rd_atomic = 1;
  attr.min_rnr_timer = kRnrTimer;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.port_num = kPort;
  attr.ah_attr.grh.dgid = gid;
  attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(gid_index);
  attr.ah_attr.grh.hop_limit = 64;
  return attr;
}

ibv_qp_attr to_send() {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.timeout = kAckTimeout;
  attr.retry_cnt = kRetries;
  attr.rnr_retry = kRnrRetries;
  attr.max_rd_atomic = 1;
  return attr;
}

constexpr int kInitMask = IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS;
constexpr int kReceiveMask = IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                             IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER;
constexpr int kSendMask = IBV_QP_STATE | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT | IBV_QP_RNR_RETRY |
                          IBV_QP_SQ_PSN | IBV_QP_MAX_QP_RD_ATOMIC;

std::string describe(ibv_wc_status status) {
  if (status == IBV_WC_RETRY_EXC_ERR) return "no acknowledgement comes back from UDP port 4791";
  return fmt::format("a request failed with completion status {}", static_cast<int>(status));
}

}  // namespace

LoopPair::~LoopPair() {
  for (ibv_qp* const qp : qps_) {
    if (qp != nullptr) verbs_.destroy_qp(qp);
  }
  for (const auto& cqs : {receive_cqs_, send_cqs_}) {
    for (ibv_cq* const cq : cqs) {
      if (cq != nullptr) verbs_.destroy_cq(cq);
    }
  }
  if (mr_ != nullptr) verbs_.dereg_mr(mr_);
  if (pd_ != nullptr) verbs_.dealloc_pd(pd_);
}

bool LoopPair::make_objects() {
  pd_ = verbs_.alloc_pd(context_);
  if (pd_ == nullptr) return false;
  mr_ = verbs_.reg_mr(pd_, memory_.data(), sizeof memory_, IBV_ACCESS_LOCAL_WRITE);
  if (mr_ == nullptr) return false;
  for (size_t side = 0; side < qps_.size(); ++side) {
    receive_cqs_[side] = verbs_.create_cq(context_, kQueueLength, nullptr, nullptr, 0);
    send_cqs_[side] = verbs_.create_cq(context_, kQueueLength, nullptr, nullptr, 0);
    if (receive_cqs_[side] == nullptr || send_cqs_[side] == nullptr) return false;
    ibv_qp_init_attr attr{};
    attr.qp_type = IBV_QPT_RC;
    attr.send_cq = send_cqs_[side];
    attr.recv_cq = receive_cqs_[side];
    attr.sq_sig_all = 1;
    attr.cap = {kQueueLength, kQueueLength, 1, 1, 0};
    qps_[side] = verbs_.create_qp(pd_, &attr);
    if (qps_[side] == nullptr) return false;
  }
  return true;
}

int LoopPair::bring_up(ibv_qp* qp, ibv_qp* peer, int gid_index, const ibv_gid& gid,
                       ibv_mtu mtu) const {
  ibv_qp_attr init = to_init();
  if (const int wrong = verbs_.modify_qp(qp, &init, kInitMask); wrong != 0) return wrong;
  ibv_qp_attr receive = to_receive(peer, gid_index, gid, mtu);
  if (const int wrong = verbs_.modify_qp(qp, &receive, kReceiveMask); wrong != 0) return wrong;
  ibv_qp_attr send = to_send();
  return verbs_.modify_qp(qp, &send, kSendMask);
}

Expected<void, std::string> LoopPair::connect(int gid_index, const ibv_gid& gid) {
  ibv_port_attr port{};
  if (const int wrong = verbs_.query_port(context_, kPort, &port); wrong != 0) {
    return failed("ibv_query_port", wrong);
  }
  if (!make_objects()) return failed("cannot make a queue pair", errno);
  for (size_t side = 0; side < qps_.size(); ++side) {
    const int wrong = bring_up(qps_[side], qps_[1 - side], gid_index, gid, port.active_mtu);
    if (wrong != 0) return failed("cannot connect a queue pair", wrong);
  }
  return {};
}

int LoopPair::post_receive(size_t side) {
  ibv_sge buffer{reinterpret_cast<uintptr_t>(memory_[2 + side].data()), kBytes, mr_->lkey};
  ibv_recv_wr request{};
  request.sg_list = &buffer;
  request.num_sge = 1;
  ibv_recv_wr* bad = nullptr;
  return ibv_post_recv(qps_[side], &request, &bad);
}

int LoopPair::post_send(size_t side) {
  ibv_sge buffer{reinterpret_cast<uintptr_t>(memory_[side].data()), kBytes, mr_->lkey};
  ibv_send_wr request{};
  request.sg_list = &buffer;
  request.num_sge = 1;
  request.opcode = IBV_WR_SEND;
  ibv_send_wr* bad = nullptr;
  return ibv_post_send(qps_[side], &request, &bad);
}

/// Until the side has received; any failed completion ends the wait.
Expected<void, std::string> LoopPair::wait_for(size_t side, Instant end) {
  for (;;) {
    // Those of sends first: they must not pile up.
    for (ibv_cq* const cq : {send_cqs_[0], send_cqs_[1], receive_cqs_[side]}) {
      ibv_wc done{};
      const int polled = ibv_poll_cq(cq, 1, &done);
      if (polled < 0) return Unexpected<std::string>("a completion queue cannot be polled");
      if (polled == 0) continue;
      if (done.status != IBV_WC_SUCCESS) return Unexpected<std::string>(describe(done.status));
      if (cq == receive_cqs_[side]) return {};
    }
    if (end < clock_now()) return Unexpected<std::string>("a message does not arrive in time");
  }
}

Expected<void, std::string> LoopPair::pass(size_t from, Instant end) {
  const size_t to = 1 - from;
  const uint64_t number = ++passed_;
  std::memcpy(memory_[from].data(), &number, kBytes);
  if (const int wrong = post_receive(to); wrong != 0) return failed("ibv_post_recv", wrong);
  if (const int wrong = post_send(from); wrong != 0) return failed("ibv_post_send", wrong);
  if (auto received = wait_for(to, end); !received) return received;
  if (memory_[2 + to] != memory_[from]) return Unexpected<std::string>("wrong bytes have arrived");
  return {};
}

Expected<std::vector<Duration>, std::string> LoopPair::ping(size_t rounds, Duration limit) {
  std::vector<Duration> took;
  Instant start = clock_now();
  const Instant end = start + limit;
  while (took.size() < rounds && start < end) {
    for (const size_t from : {size_t{0}, size_t{1}}) {
      if (auto passed = pass(from, start + kPatience); !passed) {
        return Unexpected<std::string>(std::move(passed.error()));
      }
    }
    const Instant now = clock_now();
    took.push_back(now - start);
    start = now;
  }
  return took;
}

}  // namespace urxe::doctor
