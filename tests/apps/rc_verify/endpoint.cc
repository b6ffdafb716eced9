// SPDX-License-Identifier: BSD-2-Clause
#include "endpoint.h"

#include <algorithm>

#include "failure.h"
#include "pattern.h"

namespace rc_verify {
namespace {

constexpr uint8_t kPort = 1;
constexpr uint32_t kWantedSge = 32;
constexpr uint32_t kWantedInline = 220;
constexpr uint32_t kWantedReadDepth = 16;
constexpr uint32_t kPsnMask = 0xffffff;

// What one queue pair tells its peer.
struct Address {
  ibv_gid gid;
  uint32_t qp_number;
  uint32_t psn;
  uint32_t reads_taken;  // READs and atomics it takes at a time.
};

ibv_mtu mtu_of(uint32_t bytes) {
  switch (bytes) {
    case 256:
      return IBV_MTU_256;
    case 512:
      return IBV_MTU_512;
    case 1024:
      return IBV_MTU_1024;
    case 2048:
      return IBV_MTU_2048;
    default:
      return IBV_MTU_4096;
  }
}

// Every third queue pair has one READ at a time.
uint32_t read_depth(const ibv_device_attr& attributes, uint32_t index) {
  const auto limit = static_cast<uint32_t>(std::max(attributes.max_qp_rd_atom, 1));
  return index % 3 == 2 ? 1 : std::min(limit, kWantedReadDepth);
}

// The first queue pair crosses the end of the PSN space soon.
uint32_t start_psn(uint64_t seed, uint32_t index, uint32_t qp_number) {
  if (index == 0) return kPsnMask - 20;
  return static_cast<uint32_t>(make_key({seed, index, qp_number}).value) & kPsnMask;
}

void check_modify(int error, const char* state) {
  if (error != 0) setup_failed(format("ibv_modify_qp to %s: error %d", state, error));
}

void to_init(ibv_qp* qp) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_INIT;
  attr.port_num = kPort;
  attr.qp_access_flags =
      IBV_ACCESS_REMOTE_READ | IBV_ACCESS_REMOTE_WRITE | IBV_ACCESS_REMOTE_ATOMIC;
  check_modify(ibv_modify_qp(qp, &attr,
                             IBV_QP_STATE | IBV_QP_PKEY_INDEX | IBV_QP_PORT | IBV_QP_ACCESS_FLAGS),
               "INIT");
}

void to_rtr(ibv_qp* qp, const Options& options, const Address& peer, uint32_t reads_taken) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTR;
  attr.path_mtu = mtu_of(options.test.path_mtu);
  attr.dest_qp_num = peer.qp_number;
  attr.rq_psn = peer.psn;
  attr.max_dest_rd_atomic = static_cast<uint8_t>(reads_taken);
  attr.min_rnr_timer = 12;
  attr.ah_attr.is_global = 1;
  attr.ah_attr.grh.dgid = peer.gid;
  attr.ah_attr.grh.sgid_index = static_cast<uint8_t>(options.gid_index);
  attr.ah_attr.grh.hop_limit = 64;
  attr.ah_attr.port_num = kPort;
  check_modify(ibv_modify_qp(qp, &attr,
                             IBV_QP_STATE | IBV_QP_AV | IBV_QP_PATH_MTU | IBV_QP_DEST_QPN |
                                 IBV_QP_RQ_PSN | IBV_QP_MAX_DEST_RD_ATOMIC | IBV_QP_MIN_RNR_TIMER),
               "RTR");
}

void to_rts(ibv_qp* qp, const TestOptions& test, uint32_t psn, uint32_t reads) {
  ibv_qp_attr attr{};
  attr.qp_state = IBV_QPS_RTS;
  attr.sq_psn = psn;
  attr.timeout = static_cast<uint8_t>(test.timeout);
  attr.retry_cnt = 7;
  attr.rnr_retry = 7;
  attr.max_rd_atomic = static_cast<uint8_t>(reads);
  check_modify(ibv_modify_qp(qp, &attr,
                             IBV_QP_STATE | IBV_QP_SQ_PSN | IBV_QP_TIMEOUT | IBV_QP_RETRY_CNT |
                                 IBV_QP_RNR_RETRY | IBV_QP_MAX_QP_RD_ATOMIC),
               "RTS");
}

}  // namespace

Endpoint::Endpoint(const Options& options, Control& control) {
  open(options.device);
  create(options.test);
  connect(options, control);
}

void Endpoint::open(const std::string& name) {
  int count = 0;
  ibv_device** devices = ibv_get_device_list(&count);
  if (devices == nullptr) system_failed("ibv_get_device_list");
  for (int i = 0; i < count && !context_; ++i) {
    if (name.empty() || name == ibv_get_device_name(devices[i]))
      context_.reset(ibv_open_device(devices[i]));
  }
  ibv_free_device_list(devices);
  if (!context_)
    setup_failed(name.empty() ? "there is no RDMA device" : "cannot open RDMA device " + name);
  if (ibv_query_device(context_.get(), &attributes_) != 0) system_failed("ibv_query_device");
  max_sge_ = std::min(static_cast<uint32_t>(attributes_.max_sge), kWantedSge);
}

void Endpoint::create(const TestOptions& test) {
  pd_.reset(ibv_alloc_pd(context_.get()));
  if (!pd_) system_failed("ibv_alloc_pd");
  channel_.reset(ibv_create_comp_channel(context_.get()));
  if (!channel_) system_failed("ibv_create_comp_channel");
  const int entries = static_cast<int>(test.qps * test.messages);
  send_cq_.reset(ibv_create_cq(context_.get(), entries, nullptr, channel_.get(), 0));
  receive_cq_.reset(ibv_create_cq(context_.get(), entries, nullptr, channel_.get(), 0));
  if (!send_cq_ || !receive_cq_) system_failed("ibv_create_cq");
  for (uint32_t i = 0; i < test.qps; ++i) create_queue_pair(test, i);
}

void Endpoint::create_queue_pair(const TestOptions& test, uint32_t index) {
  ibv_qp_init_attr init{};
  init.send_cq = send_cq_.get();
  init.recv_cq = receive_cq_.get();
  init.qp_type = IBV_QPT_RC;
  init.cap = {test.messages, test.messages, max_sge_, max_sge_, kWantedInline};
  init.sq_sig_all = index % 2 == 1 ? 1 : 0;
  QueuePair pair;
  pair.qp.reset(ibv_create_qp(pd_.get(), &init));
  if (!pair.qp) system_failed("ibv_create_qp");
  pair.all_signaled = init.sq_sig_all != 0;
  pair.max_inline = init.cap.max_inline_data;
  queue_pairs_.push_back(std::move(pair));
}

void Endpoint::connect(const Options& options, Control& control) {
  ibv_gid gid{};
  if (ibv_query_gid(context_.get(), kPort, static_cast<int>(options.gid_index), &gid) != 0)
    setup_failed(format("there is no GID %u", options.gid_index));
  std::vector<Address> ours;
  for (uint32_t i = 0; i < queue_pairs(); ++i) {
    const uint32_t number = queue_pairs_[i].qp->qp_num;
    ours.push_back(
        {gid, number, start_psn(options.test.seed, i, number), read_depth(attributes_, i)});
  }
  const std::vector<Address> theirs = control.exchange(ours);
  for (uint32_t i = 0; i < queue_pairs(); ++i) {
    ibv_qp* qp = queue_pairs_[i].qp.get();
    to_init(qp);
    to_rtr(qp, options, theirs[i], ours[i].reads_taken);
    to_rts(qp, options.test, ours[i].psn,
           std::min(theirs[i].reads_taken, read_depth(attributes_, i)));
  }
}

uint32_t Endpoint::max_inline() const {
  uint32_t least = kWantedInline;
  for (const QueuePair& pair : queue_pairs_) least = std::min(least, pair.max_inline);
  return least;
}

}  // namespace rc_verify
