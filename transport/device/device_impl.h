// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "packet/base/fence.h"
#include "packet/wire/qpn_layout.h"
#include "transport/device/device.h"

namespace urxe {

/// The queue pairs whose doorbell was rung. Any thread adds to it; the thread that drives the
/// device takes all of them at once.
class DoorbellList {
 public:
  /// False: it is on the list already.
  bool ring(QueuePair& qp) {
    if (qp.doorbell.exchange(true, std::memory_order_seq_cst)) return false;
    QueuePair* head = head_.load(std::memory_order_relaxed);
    do {
      qp.next_doorbell = head;
    } while (!head_.compare_exchange_weak(head, &qp, std::memory_order_seq_cst));
    full_fence_after_exchange();  // the caller then tries the device's lock
    return true;
  }
  [[nodiscard]] bool pending() const { return head_.load(std::memory_order_seq_cst) != nullptr; }

  /// Calls `take(qp)` for each. A doorbell that is rung after that adds the queue pair again.
  template <class Take>
  void drain(Take take) {
    if (head_.load(std::memory_order_relaxed) == nullptr) return;
    QueuePair* qp = head_.exchange(nullptr, std::memory_order_seq_cst);
    while (qp != nullptr) {
      QueuePair* next = qp->next_doorbell;
      // Reads what a poster has written that found it set, and so its request is seen, too.
      qp->doorbell.exchange(false, std::memory_order_seq_cst);
      take(*qp);
      qp = next;
    }
  }

 private:
  std::atomic<QueuePair*> head_{nullptr};
};

/// A completion that could not be delivered ends the queue pair (IBTA vol. 1, 10.10).
void fail_if_cq_failed(ChannelAdapter& ca, QueuePair& qp);

struct ProtectionDomain {
  uint32_t references = 0;  ///< objects that belong to it
  uint32_t owner = 0;
  bool is_released = false;  ///< goes with the last of them
};

struct Device::Impl {
  explicit Impl(const DeviceConfig& config) : ca(config) { lanes.push_back(this); }
  explicit Impl(Impl& first_lane);
  ~Impl();
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  [[nodiscard]] QueuePair* find(Qpn qpn) const {
    if (qps.empty()) return nullptr;
    QueuePair* qp = qps[index_of(qpn)].get();
    return qp != nullptr && qp->qpn == qpn ? qp : nullptr;
  }
  void receive(const RxPacket& packet, Instant now);
  void take_posted(QueuePair& qp);
  void take_doorbells();
  /// Whether transmit() has anything to look at.
  [[nodiscard]] bool has_to_send(bool all_acks) const {
    return !ca.active.empty() || (all_acks && !ca.deferred.empty()) || ca.gsi.has_outgoing() ||
           ca.backpressure.owes_answers();
  }
  /// Gives each active queue pair its turns. False: the batch is full.
  [[nodiscard]] bool take_turns(TxBatch& batch, bool all_acks);
  /// Counts the references of `qp` to other objects in (+1) or out (-1).
  void count_references(const QueuePair& qp, int by);
  /// An object that belongs to the domain was made (+1), or destroyed (-1).
  void count_user(PdId pd, int by) {
    const auto [found, was_gone] = first->protection_domains.try_emplace(pd.value());
    ProtectionDomain& domain = found->second;
    domain.is_released = domain.is_released || was_gone;
    domain.references += static_cast<uint32_t>(by);
    if (domain.is_released && domain.references == 0) first->protection_domains.erase(pd.value());
    note_change();
  }
  /// Something has changed that one of the lanes tells of.
  void note_change() {
    for (Impl* lane : first->lanes) ++lane->object_changes;
  }
  [[nodiscard]] size_t count_qps() const;
  /// Queue pairs of this lane will complete to the queue; null: to none.
  void use_cq(CompletionQueue* cq);
  /// The other lanes share what the first lane has made. ENOMEM, and nothing has changed there.
  [[nodiscard]] bool share_key(uint32_t key);
  void forget_key(uint32_t key);
  void forget(const SharedReceiveQueue& srq);
  /// May run out of memory before anything has changed.
  void take_place(QueuePair& qp);
  void free_place(QueuePair& qp);

  Impl* const first = this;  ///< lane
  std::vector<Impl*> lanes;  ///< of the first: all, itself first; of others: none
  ChannelAdapter ca;
  DoorbellList doorbells;
  std::vector<std::unique_ptr<QueuePair>> qps;  ///< by index_of(); empty until the first is made
  size_t qp_count = 0;
  std::vector<QueuePair*> places;     ///< of the queue pairs in reports; null: free
  std::vector<uint32_t> free_places;  ///< of them, with room for all
  std::unordered_map<CompletionQueue*, std::unique_ptr<CompletionQueue>> cqs;
  std::unordered_map<XrcDomain*, std::unique_ptr<XrcDomain>> domains;
  std::unordered_map<uint32_t, ProtectionDomain> protection_domains;  ///< by PdId
  uint32_t next_pd = 1;
  uint32_t last_cq_number = 0;
  uint64_t object_changes = 0;
};

}  // namespace urxe
