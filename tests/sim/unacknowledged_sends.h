// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <deque>

#include "transport/queue_pair/queue_pair.h"

namespace urxe::sim {

/// The sends of a UC or UD queue pair that have not completed, and the model of their completions:
/// each once, in order, with success, whatever the network does. But one whose own list is bad
/// fails and takes the queue pair to SQE, where all behind it is flushed.
class UnacknowledgedSends {
 public:
  explicit UnacknowledgedSends(const QueuePair& qp) : qp_(qp) {}

  struct Send {
    uint64_t wr_id = 0;
    ibv_wr_opcode opcode = IBV_WR_SEND;
    bool signaled = false;
    bool bad = false;
  };
  void add(const Send& send) { sends_.push_back(send); }
  void on_completion(const ibv_wc& wc);

  [[nodiscard]] size_t size() const { return sends_.size(); }
  [[nodiscard]] bool empty() const { return sends_.empty(); }
  /// A bad one has completed: the queue pair is in SQE.
  [[nodiscard]] bool in_error() const { return in_error_; }
  /// All flushed, the queue pair is back in RTS.
  void recovered() { in_error_ = false; }

 private:
  const QueuePair& qp_;
  std::deque<Send> sends_;
  bool in_error_ = false;
};

}  // namespace urxe::sim
