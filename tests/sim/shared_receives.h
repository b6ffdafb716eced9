// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/sim/receive_pool.h"

namespace urxe::sim {

/// A shared receive queue: its receives, the limit that is armed and its size, both changed now and
/// then, and the model of its events.
class SharedReceives {
 public:
  /// An XRC queue where there is a domain, which needs `cq`.
  SharedReceives(const Plan& plan, Device& device, Memory& memory, PdId pd, uint32_t number,
                 XrcDomain* domain, CompletionQueue* cq, Random random);
  SharedReceives(const SharedReceives&) = delete;
  SharedReceives& operator=(const SharedReceives&) = delete;

  [[nodiscard]] ReceivePool& pool() { return pool_; }
  [[nodiscard]] const ReceivePool& pool() const { return pool_; }
  [[nodiscard]] SharedReceiveQueue& queue() { return queue_; }
  [[nodiscard]] bool is_xrc() const { return queue_.domain != nullptr; }

  /// Changes the limit or the size as it likes.
  void change();
  void on_limit_reached();
  /// The event of a limit that was passed has come. Not while events wait.
  void check_limit() const;

 private:
  static SharedReceiveQueue& create(const Plan& plan, Device& device, PdId pd, XrcDomain* domain,
                                    CompletionQueue* cq);
  void modify(const ibv_srq_attr& attr, int mask);

  const Plan& plan_;
  Device& device_;
  Random random_;
  SharedReceiveQueue& queue_;
  ReceivePool pool_;
  uint32_t limit_ = 0;  ///< armed
};

}  // namespace urxe::sim
