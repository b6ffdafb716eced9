// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <bit>
#include <cstdint>
#include <memory>
#include <span>

#include "packet/wire/psn.h"
#include "packet/wire/roce_packet.h"
#include "packet/wire/types.h"
#include "transport/memory/memory_region.h"
#include "transport/queues/completion_queue.h"

namespace urxe {

/// The destination of a datagram, from its address handle and its work request.
struct Datagram {
  Flow flow;
  Qpn qpn;
  QKey qkey;
};

/// A send work queue element: the request as posted, and the requester's notes.
struct SendWqe {
  uint64_t wr_id = 0;
  ibv_wr_opcode opcode = IBV_WR_SEND;
  unsigned send_flags = 0;  ///< ibv_send_flags
  uint32_t num_sge = 0;
  uint32_t length = 0;        ///< bytes of all elements, or of the inline data
  bool is_inline = false;     ///< the data is in the queue's inline area, not behind the list
  uint32_t immediate_be = 0;  ///< immediate data in network byte order
  RKey invalidate;            ///< of SEND_WITH_INV
  uint64_t remote_addr = 0;
  RKey rkey;
  uint64_t compare_add = 0;
  uint64_t swap = 0;
  Feth flush;                 ///< of FLUSH, and how much memory it names
  uint32_t flush_length = 0;  ///< bytes
  BindRequest bind;           ///< of BIND_MW
  Datagram datagram;          ///< UD only
  Srqn remote_srqn;           ///< XRC only: the receiver's shared receive queue

  Psn first_psn;                ///< set when the requester first reaches the element
  uint32_t packets = 0;         ///< PSNs it takes; 0: not reached yet
  Ssn ssn;                      ///< of its (first) message
  bool failed_locally = false;  ///< completes with `local_status` after all before it
  ibv_wc_status local_status = IBV_WC_SUCCESS;

  [[nodiscard]] Psn last_psn() const { return first_psn + (packets - 1); }
};

/// A receive work queue element.
struct RecvWqe {
  uint64_t wr_id = 0;
  uint32_t num_sge = 0;
  uint64_t length = 0;  ///< bytes of all elements
};

/// A ring of work queue elements with their scatter/gather lists, allocated once. One poster at a
/// time, under the provider's lock of the queue, and one consumer, the device's caller, may use it
/// at the same time. A position is the count of elements before it (mod 2^32).
template <class Wqe>
class WorkQueue {
 public:
  /// `inline_bytes` are kept per element.
  WorkQueue(uint32_t capacity, uint32_t max_sge, uint32_t inline_bytes)
      : capacity_(capacity),
        max_sge_(max_sge),
        inline_bytes_(inline_bytes),
        mask_(std::bit_ceil(capacity == 0 ? 1U : capacity) - 1),
        wqes_(std::make_unique<Wqe[]>(mask_ + 1U)) {
    const size_t places = mask_ + 1U;
    // Even an empty array would be allocated.
    if (max_sge != 0) sges_ = std::make_unique<Sge[]>(places * max_sge);
    if (inline_bytes != 0) inline_ = std::make_unique<uint8_t[]>(places * inline_bytes);
  }

  [[nodiscard]] uint32_t capacity() const { return capacity_; }
  [[nodiscard]] uint32_t max_sge() const { return max_sge_; }
  [[nodiscard]] uint32_t inline_bytes() const { return inline_bytes_; }

  // Elements by position; both sides use these.
  [[nodiscard]] Wqe& at(uint32_t position) { return wqes_[position & mask_]; }
  [[nodiscard]] std::span<Sge> sges(uint32_t position) {
    return {sge_space(position), at(position).num_sge};
  }
  /// The space for the list of an element that is being filled.
  [[nodiscard]] Sge* sge_space(uint32_t position) {
    return sges_.get() + static_cast<size_t>(position & mask_) * max_sge_;
  }
  [[nodiscard]] uint8_t* inline_space(uint32_t position) {
    return inline_.get() + static_cast<size_t>(position & mask_) * inline_bytes_;
  }

  // The poster's side.
  [[nodiscard]] uint32_t next_position() const { return posted_.load(std::memory_order_relaxed); }
  /// Whether the element at `position`, next_position() or one of those after it, may be filled.
  [[nodiscard]] bool has_room(uint32_t position) const {
    return position - freed_.load(std::memory_order_acquire) < capacity_;
  }
  [[nodiscard]] bool full() const { return !has_room(next_position()); }
  /// Makes the elements from next_position() to before `end`, filled by now, visible to the
  /// consumer.
  void publish_until(uint32_t end) { posted_.store(end, std::memory_order_release); }
  void publish() { publish_until(next_position() + 1); }

  // The consumer's side.
  [[nodiscard]] uint32_t posted() const { return posted_.load(std::memory_order_acquire); }
  [[nodiscard]] uint32_t oldest() const { return retired_.load(std::memory_order_relaxed); }
  [[nodiscard]] bool empty() const { return posted() == oldest(); }
  /// Ends the use of the oldest element. Its place becomes free when the completion that covers it
  /// is polled, so that a queue never has more completions than places.
  void retire() { retired_.store(oldest() + 1, std::memory_order_release); }
  /// The places to free when the completion of the element retired last is polled: its place and
  /// all before it.
  [[nodiscard]] FreedSlots freed_by_completion() { return {&freed_, oldest()}; }
  /// Frees the places of all retired elements.
  void free_retired() { freed_.store(oldest(), std::memory_order_release); }
  /// Forgets everything. Neither side may be active.
  void reset() {
    retired_.store(posted(), std::memory_order_release);
    free_retired();
  }

 private:
  uint32_t capacity_;
  uint32_t max_sge_;
  uint32_t inline_bytes_;
  uint32_t mask_;
  std::unique_ptr<Wqe[]> wqes_;
  std::unique_ptr<Sge[]> sges_;
  std::unique_ptr<uint8_t[]> inline_;
  alignas(64) std::atomic<uint32_t> posted_{0};
  alignas(64) std::atomic<uint32_t> retired_{0};
  std::atomic<uint32_t> freed_{0};
};

using SendQueue = WorkQueue<SendWqe>;
using ReceiveQueue = WorkQueue<RecvWqe>;

}  // namespace urxe
