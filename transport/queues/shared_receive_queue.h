// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/wire/types.h"
#include "transport/memory/memory_region.h"
#include "transport/queues/completion_queue.h"
#include "transport/queues/work_queue.h"

namespace urxe {

/// An XRC domain (IBTA vol. 1, annex A14): a target queue pair may use the shared receive queues of
/// its domain. Only the identity of a domain matters.
struct XrcDomain {
  uint32_t references = 0;  ///< shared receive queues and queue pairs in it
};

/// The parameters of a new shared receive queue. With a domain it is an XRC queue and needs `cq`;
/// without one it is a basic queue and has no `cq`.
struct SrqInit {
  PdId pd;
  uint32_t max_wr = 1;
  uint32_t max_sge = 1;
  XrcDomain* domain = nullptr;
  CompletionQueue* cq = nullptr;
  void* user = nullptr;  ///< comes back with events
};

/// A shared receive queue (IBTA vol. 1, 10.2.9): a ring from which any number of queue pairs take
/// elements. The place of an element is free once it is taken, since queue pairs complete elements
/// in any order.
class SharedReceiveQueue {
 public:
  SharedReceiveQueue(const SrqInit& init, Srqn srqn);

  const Srqn number;
  const PdId pd;            ///< of the elements' keys
  XrcDomain* const domain;  ///< nullptr: basic
  CompletionQueue* const cq;
  void* const user;

  /// The poster fills it like any receive queue, and the device takes from it. resize() replaces
  /// it.
  [[nodiscard]] ReceiveQueue& queue() { return *queue_; }
  /// Elements posted and not taken.
  [[nodiscard]] uint32_t waiting() const { return queue_->posted() - queue_->oldest(); }
  [[nodiscard]] uint32_t max_wr() const { return queue_->capacity(); }
  [[nodiscard]] uint32_t max_sge() const { return queue_->max_sge(); }

  // The device's side.
  /// Changes the capacity, to no less than waiting(). The poster may not be active.
  void resize(uint32_t max_wr);

  uint32_t limit = 0;       ///< raise one event once fewer elements wait; 0: not armed
  uint32_t references = 0;  ///< queue pairs made with it
  bool in_error = false;    ///< a completion could not be delivered; the event was raised

 private:
  std::unique_ptr<ReceiveQueue> queue_;
};

/// The shared receive queues of one device by number. A number comes back only after 2^24 others.
class SrqTable {
 public:
  Expected<SharedReceiveQueue*, Errno> add(const SrqInit& init);  ///< ENOMEM: too many
  void remove(SharedReceiveQueue* srq);
  [[nodiscard]] SharedReceiveQueue* find(Srqn number) const;
  [[nodiscard]] size_t size() const { return count_; }
  /// Calls `visit` for each, in no order.
  template <class Visit>
  void for_each(Visit visit) const {
    size_t left = count_;
    for (auto srq = places_.begin(); left != 0; ++srq) {
      if (*srq == nullptr) continue;
      visit(std::as_const(**srq));
      --left;
    }
  }

 private:
  std::vector<std::unique_ptr<SharedReceiveQueue>> places_;  ///< by low bits of the number
  size_t count_ = 0;
  uint32_t next_number_ = 1;
};

}  // namespace urxe
