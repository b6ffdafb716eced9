// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>

namespace urxe {

/// Places of a work queue that are free again once a completion is polled: all before `position`.
struct FreedSlots {
  std::atomic<uint32_t>* freed = nullptr;  ///< nullptr: none
  uint32_t position = 0;
};

/// A completion queue. The device pushes; one poller at a time (the provider's lock of that queue)
/// polls at the same time without the device's lock.
class CompletionQueue {
 public:
  /// `user` comes back with events; the transport does not look at it.
  CompletionQueue(uint32_t entries, void* user);

  [[nodiscard]] void* user() const { return user_; }
  [[nodiscard]] uint32_t capacity() const { return capacity_; }

  // The poller's side.
  /// Takes up to `count` completions, oldest first.
  int poll(int count, ibv_wc* wc);
  [[nodiscard]] bool empty() const {
    return pushed_.load(std::memory_order_acquire) == polled_.load(std::memory_order_relaxed);
  }
  /// Asks for one event at the next completion (IBTA vol. 1, 11.4.2.2). `solicited_only`: at the
  /// next solicited or failed one; a pending request for any completion stays. Any thread.
  void arm(bool solicited_only);
  [[nodiscard]] bool is_armed() const {
    return armed_.load(std::memory_order_relaxed) != kNotArmed;
  }

  // The device's side.
  enum class Push : uint8_t { kQuiet, kNotify, kOverflow };
  /// kOverflow: the queue was full; the completion is lost and the queue stays in error.
  Push push(const ibv_wc& wc, bool solicited, FreedSlots slots = {});
  /// Drops the completions of a queue pair that is reset or destroyed; neither side may be active.
  void purge(uint32_t qp_num);
  [[nodiscard]] bool in_error() const { return in_error_; }
  /// Changes the capacity; neither side may be active. False: more completions wait than fit.
  bool resize(uint32_t entries);

  uint32_t references = 0;  ///< queue pairs that use it
  bool notified = false;    ///< on the device's list of queues to notify

 private:
  enum Armed : uint8_t { kNotArmed, kSolicited, kAny };
  uint32_t capacity_;
  uint32_t mask_;
  struct Entry {
    ibv_wc wc;
    FreedSlots slots;
  };
  std::unique_ptr<Entry[]> ring_;
  void* user_;
  bool in_error_ = false;
  std::atomic<uint8_t> armed_{kNotArmed};
  alignas(64) std::atomic<uint32_t> pushed_{0};
  alignas(64) std::atomic<uint32_t> polled_{0};
};

}  // namespace urxe
