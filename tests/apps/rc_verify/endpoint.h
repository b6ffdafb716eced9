// SPDX-License-Identifier: BSD-2-Clause
// The verbs objects of one process: a device, its completion queues and its connected queue pairs.
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <string>
#include <vector>

#include "control.h"
#include "options.h"
#include "tests/apps/verbs_pointers.h"

namespace rc_verify {

using verbs::ChannelPtr;
using verbs::ContextPtr;
using verbs::CqPtr;
using verbs::MrPtr;
using verbs::PdPtr;
using verbs::QpPtr;
using verbs::SrqPtr;

// In the scenario of the receiver that is not ready: the responder's timer, and how often the queue
// pairs with an odd index try again before they give up.
inline constexpr uint32_t kSlowRnrTimer = 23;
inline constexpr uint64_t kSlowRnrMicroseconds = 30720;
inline constexpr uint32_t kRnrRetries = 2;

struct QueuePair {
  QpPtr qp;
  bool all_signaled = false;  // Created with sq_sig_all.
  uint32_t max_inline = 0;
};

class Endpoint {
 public:
  // Opens the device and connects options.test.qps queue pairs with the peer's.
  Endpoint(const Options& options, Control& control);

  ibv_pd* pd() const { return pd_.get(); }
  ibv_cq* send_cq() const { return send_cq_.get(); }
  ibv_cq* receive_cq() const { return receive_cq_.get(); }
  // Null but in the scenario of the shared receive queue.
  ibv_srq* srq() const { return srq_.get(); }
  ibv_comp_channel* channel() const { return channel_.get(); }
  QueuePair& queue_pair(uint32_t index) { return queue_pairs_[index]; }
  uint32_t queue_pairs() const { return static_cast<uint32_t>(queue_pairs_.size()); }
  // Of a send or receive list, as created.
  uint32_t max_sge() const { return max_sge_; }
  // The least of all queue pairs, in bytes.
  uint32_t max_inline() const;

 private:
  void open(const std::string& name);
  void create(const TestOptions& test);
  void create_shared_receive_queue(const TestOptions& test);
  void create_queue_pair(const TestOptions& test, uint32_t index);
  void connect(const Options& options, Control& control);

  ContextPtr context_;
  ibv_device_attr attributes_{};
  uint32_t max_sge_ = 0;
  PdPtr pd_;
  ChannelPtr channel_;
  CqPtr send_cq_;
  CqPtr receive_cq_;
  SrqPtr srq_;
  std::vector<QueuePair> queue_pairs_;
};

}  // namespace rc_verify
