// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <infiniband/verbs.h>

#include <atomic>
#include <cstdint>
#include <memory>

#include "packet/base/intrusive_list.h"
#include "packet/base/short_lock.h"
#include "packet/base/time.h"

namespace urxe {

struct ChannelAdapter;

/// The places of a work queue that become free when a completion is polled: all before `position`.
struct FreedSlots {
  std::atomic<uint32_t>* freed = nullptr;  ///< nullptr: none
  uint32_t position = 0;
};

/// A completion with its timestamp.
struct StampedCompletion {
  ibv_wc wc{};
  Instant when;  ///< zero if the queue keeps no timestamps
};

/// When an armed queue raises its event (ibv_modify_cq(3)): after `count` completions, or `period`
/// after the first of them, whichever comes first. 0: no such condition. Both 0: at once, as
/// without moderation. A failed completion raises it at once, since no other may follow.
struct CqModeration {
  uint16_t count = 0;
  Duration period{};
};

/// Options of a completion queue.
struct CqOptions {
  bool timestamps = false;
  /// If the queue is full, completions are lost, without any other effect.
  bool ignore_overrun = false;
  uint32_t owner = 0;  ///< only told to observers
};

/// A completion queue. The device pushes: one lane of it, or several, if queue pairs of several use
/// it (share()). One poller at a time, under the provider's lock of the queue, polls without the
/// device's lock.
class CompletionQueue : public ListHook<struct HeldEventTag> {
 public:
  /// `user` comes back with events; the transport does not look at it.
  CompletionQueue(uint32_t entries, void* user, CqOptions options = {});

  [[nodiscard]] void* user() const { return user_; }
  [[nodiscard]] uint32_t capacity() const { return capacity_; }

  // The poller's side.
  /// Takes up to `count` completions, oldest first.
  int poll(int count, ibv_wc* wc);
  /// Takes the oldest completion; false: there is none.
  bool poll_one(StampedCompletion& completion);
  [[nodiscard]] bool empty() const {
    return pushed_.load(std::memory_order_acquire) == polled_.load(std::memory_order_relaxed);
  }
  /// How many completions were not polled. Any thread.
  [[nodiscard]] uint32_t waiting() const {
    return pushed_.load(std::memory_order_acquire) - polled_.load(std::memory_order_acquire);
  }
  /// Asks for one event at the next completion (IBTA vol. 1, 11.4.2.2). `solicited_only`: at the
  /// next solicited or failed one; a pending request for any completion stays. Any thread.
  void arm(bool solicited_only);
  [[nodiscard]] bool is_armed() const {
    return armed_.load(std::memory_order_relaxed) != kNotArmed;
  }

  // The device's side.
  enum class Push : uint8_t {
    kQuiet,
    kNotify,
    kHeld,      ///< an event is due, but moderation holds it back
    kOverflow,  ///< the queue was full; the completion is lost and the queue stays in error
    kLost,      ///< the queue was full and ignores overruns; the completion is lost
  };
  /// From now on several lanes push. The event of such a queue is never held back. With the locks
  /// of all lanes held.
  void share() { shared_ = true; }
  [[nodiscard]] bool is_shared() const { return shared_; }
  Push push(const ibv_wc& wc, bool solicited, Instant now, FreedSlots slots = {});
  /// Takes effect with the next event.
  void set_moderation(CqModeration moderation) { moderation_ = moderation; }
  [[nodiscard]] const CqModeration& moderation() const { return moderation_; }
  /// Whether moderation holds an event back.
  [[nodiscard]] bool holds_event() const { return held_completions_ != 0; }
  /// Disarms the queue, for an event that the caller raises. False: it was not armed any more.
  bool release_event();
  /// Drops the completions of a queue pair that is reset or destroyed; neither side may be active.
  void purge(uint32_t qp_num);
  [[nodiscard]] bool in_error() const { return in_error_.load(std::memory_order_relaxed); }
  /// Changes the capacity; neither side may be active. False: more completions wait than fit.
  bool resize(uint32_t entries);

  uint32_t references = 0;  ///< queue pairs that use it
  /// The lane that pushes, since the first queue pair that uses it was made; of a shared queue, one
  /// of those.
  ChannelAdapter* lane = nullptr;
  uint32_t number = 0;   ///< among the device's, from 1 on
  const uint32_t owner;  ///< CqOptions::owner
  /// On a list of queues to notify, that of the lane which found it armed.
  std::atomic<bool> notified{false};
  Instant held_until{};  ///< on the list of held events: when the event is due

 private:
  enum Armed : uint8_t { kNotArmed, kSolicited, kAny };
  uint32_t capacity_;
  uint32_t mask_;
  struct Entry {
    ibv_wc wc;
    FreedSlots slots;
  };
  void take(uint32_t position, ibv_wc& wc);
  Push push_alone(const ibv_wc& wc, bool solicited, Instant now, FreedSlots slots);

  std::unique_ptr<Entry[]> ring_;
  std::unique_ptr<Instant[]> stamps_;  ///< beside the ring; null: not wanted
  void* user_;
  bool ignore_overrun_;
  bool shared_ = false;
  std::atomic<bool> in_error_{false};
  ShortLock push_lock_;  ///< of a shared queue
  CqModeration moderation_;
  uint32_t held_completions_ = 0;  ///< since the event has been owed
  std::atomic<uint8_t> armed_{kNotArmed};
  alignas(64) std::atomic<uint32_t> pushed_{0};
  alignas(64) std::atomic<uint32_t> polled_{0};
};

}  // namespace urxe
