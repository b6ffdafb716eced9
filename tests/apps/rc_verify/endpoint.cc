// SPDX-License-Identifier: BSD-2-Clause
#include "endpoint.h"

#include <algorithm>

#include "failure.h"
#include "pattern.h"
#include "transitions.h"

namespace rc_verify {
namespace {

constexpr uint32_t kWantedSge = 32;
constexpr uint32_t kUsualInline = 220;
constexpr uint32_t kUsualRnrTimer = 12;  // 0.64 ms
constexpr uint32_t kForever = 7;
constexpr uint32_t kWantedReadDepth = 16;
constexpr uint32_t kPsnMask = 0xffffff;

// Every third queue pair has one READ at a time.
uint32_t read_depth(const ibv_device_attr& attributes, uint32_t index) {
  const auto limit = static_cast<uint32_t>(std::max(attributes.max_qp_rd_atom, 1));
  return index % 3 == 2 ? 1 : std::min(limit, kWantedReadDepth);
}

uint32_t wanted_inline(const TestOptions& test) {
  return test.in_line > 0 ? test.in_line : kUsualInline;
}

// The first queue pair crosses the end of the PSN space soon.
uint32_t start_psn(uint64_t seed, uint32_t index, uint32_t qp_number) {
  if (index == 0) return kPsnMask - 20;
  return static_cast<uint32_t>(make_key({seed, index, qp_number}).value) & kPsnMask;
}

// In the scenario of the receiver that is not ready, queue pairs go by twos: the second gives up.
uint32_t rnr_retry(const TestOptions& test, uint32_t index) {
  const bool gives_up = (test.scenarios & kNotReady) != 0 && index % 2 == 1;
  return gives_up ? kRnrRetries : kForever;
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
  if ((test.scenarios & kSharedReceiveQueue) != 0) create_shared_receive_queue(test);
  for (uint32_t i = 0; i < test.qps; ++i) create_queue_pair(test, i);
}

void Endpoint::create_shared_receive_queue(const TestOptions& test) {
  ibv_srq_init_attr init{};
  init.attr.max_wr = test.messages;
  init.attr.max_sge = 1;
  srq_.reset(ibv_create_srq(pd_.get(), &init));
  if (!srq_) system_failed("ibv_create_srq");
}

void Endpoint::create_queue_pair(const TestOptions& test, uint32_t index) {
  ibv_qp_init_attr init{};
  init.send_cq = send_cq_.get();
  init.recv_cq = receive_cq_.get();
  init.qp_type = test.transport == Transport::kReliable ? IBV_QPT_RC : IBV_QPT_UC;
  init.srq = srq_.get();
  init.cap = {test.messages, test.messages, max_sge_, max_sge_, wanted_inline(test)};
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
  const bool slowly = (options.test.scenarios & kNotReady) != 0;
  for (uint32_t i = 0; i < queue_pairs(); ++i) {
    Connection connection{};
    connection.transport = options.test.transport;
    connection.peer = theirs[i];
    connection.gid_index = options.gid_index;
    connection.path_mtu = options.test.path_mtu;
    connection.psn = ours[i].psn;
    connection.reads_taken = ours[i].reads_taken;
    connection.reads = std::min(theirs[i].reads_taken, ours[i].reads_taken);
    connection.timeout = options.test.timeout;
    connection.rnr_retry = rnr_retry(options.test, i);
    connection.min_rnr_timer = slowly ? kSlowRnrTimer : kUsualRnrTimer;
    connect_queue_pair(queue_pairs_[i].qp.get(), connection);
  }
}

uint32_t Endpoint::max_inline() const {
  uint32_t least = ~0U;
  for (const QueuePair& pair : queue_pairs_) least = std::min(least, pair.max_inline);
  return least;
}

}  // namespace rc_verify
