// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>

#include "transport/queue_pair/queue_pair.h"

namespace urxe {

/// The queue pairs whose doorbell was rung: pushed by any thread, taken all at once by the one that
/// drives the device.
class DoorbellList {
 public:
  /// False: it is on the list already.
  bool ring(QueuePair& qp) {
    if (qp.doorbell.exchange(true, std::memory_order_seq_cst)) return false;
    QueuePair* head = head_.load(std::memory_order_relaxed);
    do {
      qp.next_doorbell = head;
    } while (!head_.compare_exchange_weak(head, &qp, std::memory_order_seq_cst));
    return true;
  }
  [[nodiscard]] bool pending() const { return head_.load(std::memory_order_seq_cst) != nullptr; }

  /// Calls `take(qp)` for each. A doorbell rung from then on puts it on the list again.
  template <class Take>
  void drain(Take take) {
    if (head_.load(std::memory_order_relaxed) == nullptr) return;
    QueuePair* qp = head_.exchange(nullptr, std::memory_order_seq_cst);
    while (qp != nullptr) {
      QueuePair* next = qp->next_doorbell;
      qp->doorbell.store(false, std::memory_order_seq_cst);
      take(*qp);
      qp = next;
    }
  }

 private:
  std::atomic<QueuePair*> head_{nullptr};
};

}  // namespace urxe
