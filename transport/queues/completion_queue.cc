// SPDX-License-Identifier: BSD-2-Clause
#include "transport/queues/completion_queue.h"

#include <algorithm>
#include <bit>

#include "packet/base/fence.h"

namespace urxe {

CompletionQueue::CompletionQueue(uint32_t entries, void* user, CqOptions options)
    : owner(options.owner),
      capacity_(entries),
      mask_(std::bit_ceil(entries) - 1),
      ring_(std::make_unique<Entry[]>(mask_ + 1U)),
      stamps_(options.timestamps ? std::make_unique<Instant[]>(mask_ + 1U) : nullptr),
      user_(user),
      ignore_overrun_(options.ignore_overrun) {}

void CompletionQueue::take(uint32_t position, ibv_wc& wc) {
  const Entry& entry = ring_[position & mask_];
  wc = entry.wc;
  if (entry.slots.freed != nullptr) {
    entry.slots.freed->store(entry.slots.position, std::memory_order_release);
  }
}

int CompletionQueue::poll(int count, ibv_wc* wc) {
  const uint32_t first = polled_.load(std::memory_order_relaxed);
  const uint32_t ready = pushed_.load(std::memory_order_acquire) - first;
  const uint32_t taken = std::min(ready, static_cast<uint32_t>(std::max(count, 0)));
  for (uint32_t i = 0; i < taken; ++i) take(first + i, wc[i]);
  if (taken != 0) polled_.store(first + taken, std::memory_order_release);
  return static_cast<int>(taken);
}

bool CompletionQueue::poll_one(StampedCompletion& completion) {
  const uint32_t position = polled_.load(std::memory_order_relaxed);
  if (pushed_.load(std::memory_order_acquire) == position) return false;
  take(position, completion.wc);
  if (stamps_ != nullptr) completion.when = stamps_[position & mask_];
  polled_.store(position + 1, std::memory_order_release);
  return true;
}

void CompletionQueue::arm(bool solicited_only) {
  if (solicited_only) {
    uint8_t expected = kNotArmed;
    armed_.compare_exchange_strong(expected, kSolicited, std::memory_order_seq_cst);
  } else {
    armed_.store(kAny, std::memory_order_seq_cst);
  }
  full_fence();  // the poller's next look comes after
}

CompletionQueue::Push CompletionQueue::push(const ibv_wc& wc, bool solicited, Instant now,
                                            FreedSlots slots) {
  if (!shared_) [[likely]]
    return push_alone(wc, solicited, now, slots);
  const ShortLock::Guard lock(push_lock_);
  return push_alone(wc, solicited, now, slots);
}

CompletionQueue::Push CompletionQueue::push_alone(const ibv_wc& wc, bool solicited, Instant now,
                                                  FreedSlots slots) {
  const uint32_t position = pushed_.load(std::memory_order_relaxed);
  if (in_error() || position - polled_.load(std::memory_order_acquire) >= capacity_) {
    if (ignore_overrun_) return Push::kLost;
    in_error_.store(true, std::memory_order_relaxed);
    return Push::kOverflow;
  }
  ring_[position & mask_] = {wc, slots};
  if (stamps_ != nullptr) stamps_[position & mask_] = now;
  // Sequentially consistent with arm(): either this sees the request, or the poller sees this
  // entry.
  pushed_.store(position + 1, std::memory_order_seq_cst);
  const uint8_t armed = armed_.load(std::memory_order_seq_cst);
  if (armed == kNotArmed) return Push::kQuiet;
  const bool failed = wc.status != IBV_WC_SUCCESS;
  if (armed == kSolicited && !solicited && !failed) return Push::kQuiet;
  ++held_completions_;
  const bool by_count = moderation_.count != 0 && held_completions_ >= moderation_.count;
  const bool moderated = !shared_ && (moderation_.count > 1 || moderation_.period.ns > 0);
  if (moderated && !by_count && !failed) return Push::kHeld;
  (void)release_event();
  return Push::kNotify;
}

bool CompletionQueue::release_event() {
  held_completions_ = 0;
  return armed_.exchange(kNotArmed, std::memory_order_seq_cst) != kNotArmed;
}

void CompletionQueue::purge(uint32_t qp_num) {
  const uint32_t end = pushed_.load(std::memory_order_relaxed);
  uint32_t kept = polled_.load(std::memory_order_relaxed);
  for (uint32_t i = kept; i != end; ++i) {
    const Entry& entry = ring_[i & mask_];
    if (entry.wc.qp_num == qp_num) continue;
    if (stamps_ != nullptr) stamps_[kept & mask_] = stamps_[i & mask_];
    ring_[kept++ & mask_] = entry;
  }
  pushed_.store(kept, std::memory_order_release);
}

bool CompletionQueue::resize(uint32_t entries) {
  const uint32_t first = polled_.load(std::memory_order_relaxed);
  const uint32_t waiting = pushed_.load(std::memory_order_relaxed) - first;
  if (waiting > entries) return false;
  const uint32_t mask = std::bit_ceil(entries) - 1;
  auto ring = std::make_unique<Entry[]>(mask + 1U);
  auto stamps = stamps_ != nullptr ? std::make_unique<Instant[]>(mask + 1U) : nullptr;
  for (uint32_t i = first; i != first + waiting; ++i) {
    ring[i & mask] = ring_[i & mask_];
    if (stamps != nullptr) stamps[i & mask] = stamps_[i & mask_];
  }
  ring_ = std::move(ring);
  stamps_ = std::move(stamps);
  mask_ = mask;
  capacity_ = entries;
  return true;
}

}  // namespace urxe
