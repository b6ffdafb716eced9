// SPDX-License-Identifier: BSD-2-Clause
#include "transport/completion_queue.h"

#include <algorithm>
#include <bit>

namespace urxe {

CompletionQueue::CompletionQueue(uint32_t entries, void* user)
    : capacity_(entries),
      mask_(std::bit_ceil(entries) - 1),
      ring_(std::make_unique<Entry[]>(mask_ + 1U)),
      user_(user) {}

int CompletionQueue::poll(int count, ibv_wc* wc) {
  const uint32_t first = polled_.load(std::memory_order_relaxed);
  const uint32_t ready = pushed_.load(std::memory_order_acquire) - first;
  const uint32_t taken = std::min(ready, static_cast<uint32_t>(std::max(count, 0)));
  for (uint32_t i = 0; i < taken; ++i) {
    const Entry& entry = ring_[(first + i) & mask_];
    wc[i] = entry.wc;
    if (entry.slots.freed != nullptr) {
      entry.slots.freed->store(entry.slots.position, std::memory_order_release);
    }
  }
  if (taken != 0) polled_.store(first + taken, std::memory_order_release);
  return static_cast<int>(taken);
}

void CompletionQueue::arm(bool solicited_only) {
  if (solicited_only) {
    uint8_t expected = kNotArmed;
    armed_.compare_exchange_strong(expected, kSolicited, std::memory_order_seq_cst);
  } else {
    armed_.store(kAny, std::memory_order_seq_cst);
  }
}

CompletionQueue::Push CompletionQueue::push(const ibv_wc& wc, bool solicited, FreedSlots slots) {
  const uint32_t next = pushed_.load(std::memory_order_relaxed);
  if (in_error_ || next - polled_.load(std::memory_order_acquire) >= capacity_) {
    in_error_ = true;
    return Push::kOverflow;
  }
  ring_[next & mask_] = {wc, slots};
  // Sequentially consistent with arm(): either this sees the request or its poller sees this entry.
  pushed_.store(next + 1, std::memory_order_seq_cst);
  const uint8_t armed = armed_.load(std::memory_order_seq_cst);
  if (armed == kNotArmed) return Push::kQuiet;
  if (armed == kSolicited && !solicited && wc.status == IBV_WC_SUCCESS) return Push::kQuiet;
  armed_.store(kNotArmed, std::memory_order_seq_cst);
  return Push::kNotify;
}

void CompletionQueue::purge(uint32_t qp_num) {
  const uint32_t end = pushed_.load(std::memory_order_relaxed);
  uint32_t kept = polled_.load(std::memory_order_relaxed);
  for (uint32_t i = kept; i != end; ++i) {
    const Entry& entry = ring_[i & mask_];
    if (entry.wc.qp_num != qp_num) ring_[kept++ & mask_] = entry;
  }
  pushed_.store(kept, std::memory_order_release);
}

bool CompletionQueue::resize(uint32_t entries) {
  const uint32_t first = polled_.load(std::memory_order_relaxed);
  const uint32_t waiting = pushed_.load(std::memory_order_relaxed) - first;
  if (waiting > entries) return false;
  const uint32_t mask = std::bit_ceil(entries) - 1;
  auto ring = std::make_unique<Entry[]>(mask + 1U);
  for (uint32_t i = 0; i < waiting; ++i) ring[(first + i) & mask] = ring_[(first + i) & mask_];
  ring_ = std::move(ring);
  mask_ = mask;
  capacity_ = entries;
  return true;
}

}  // namespace urxe
