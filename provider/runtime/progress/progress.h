// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "packet/engine/engine.h"
#include "packet/wire/tx_batch.h"
#include "provider/runtime/events/event_sink.h"
#include "provider/runtime/events/event_socket.h"
#include "provider/runtime/locks/device_lock.h"
#include "provider/runtime/progress/counter_table.h"
#include "transport/device/device.h"

namespace urxe {

/// Runs a device: the only reader of the clock. A thread that posts or polls drives the device
/// itself if nobody else does (on_post(), poll()). A background thread does so while the
/// application does not poll; while it polls, that thread rests and only looks now and then
/// whether it still does. While nothing is due and nothing arrives it sleeps without a timeout.
///
/// No doorbell is lost: whoever gives up the lock looks afterwards whether one was rung meanwhile.
/// Thread-safe, but for what says otherwise.
class Progress {
 public:
  /// Runs `device`, which is that of `owner`: the events are told to be of the latter.
  Progress(Device& device, RuntimeDevice& owner) : device_(device), owner_(owner) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Holds the device's lock; what its holder has changed takes effect when it is given up.
  class Guard {
   public:
    explicit Guard(Progress& progress) : progress_(progress) { progress_.lock_.lock(); }
    ~Guard() { progress_.settle_and_unlock(); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Progress& progress_;
  };

  // With the lock held:

  /// Gives it an engine and starts the background thread. Once. EAGAIN, ENOMEM, EMFILE.
  Expected<void, Errno> start(std::unique_ptr<PacketEngine> engine, CounterTable counters);
  [[nodiscard]] PacketEngine* engine() { return engine_.get(); }
  /// Sends the ACKs that wait for company: their queue pair is about to go.
  void flush_acks();
  /// Sends in a while what `socket` has no room for now.
  void flush_later(std::shared_ptr<EventSocket> socket);
  /// Sends what has been posted: what it needs is about to go.
  void transmit_posted();

  // Without the lock:

  /// The doorbell of `qp` was rung: transmits, unless somebody else is about to, or the application
  /// polls and an answer is due anyway: then a few small requests may go out together.
  void on_post(QueuePair& qp);
  /// Takes completions by `take`; where it answers 0 or false, because there are none yet, drives
  /// the device and tries again. The caller holds no lock.
  template <class Take>
  auto poll(const CompletionQueue& cq, Take take);
  /// `cq` was armed: somebody is going to wait for its event.
  void on_armed(std::atomic<bool>& counted);
  /// The queue that `counted` belongs to is armed no more.
  void on_disarmed(std::atomic<bool>& counted);

  /// Returns once whoever drives the device now has given it up; at once where that is the calling
  /// thread. For callers with locks of others' held, which the holder may come to need: waits for a
  /// bounded time, which is far longer than a turn takes.
  void wait_for_holder();

  /// The process is about to exit: sends what its peers should still get, the last words of the
  /// connection manager's consumer included; unless the lock is not to be had soon.
  void finish_at_exit();

  // fork(): the child must not disturb the parent.
  void before_fork() { lock_.lock(); }
  void after_fork_in_parent() { lock_.unlock(); }
  /// Closes what the child inherited; the object is of no use after.
  void after_fork_in_child();

 private:
  enum class Mode : uint8_t { kAwake, kWatching, kResting };

  [[nodiscard]] bool may_gather(QueuePair& qp);
  void drive_inline(const CompletionQueue& cq);
  void settle_and_unlock();
  void unlock();
  void drive_rounds(const CompletionQueue& cq, Instant now);
  void finish(Instant now);
  void say_farewell(Instant now);
  bool receive(Instant now);
  void transmit(AckPolicy policy, Instant now);
  void deliver_events();
  [[nodiscard]] Instant deadline(Instant now) const;
  void publish_counters(Instant now);

  static void* thread_main(void* self);
  void run();
  void serve();
  void serve_arrivals(Instant now);
  void sleep_until(Instant when);
  void rest();
  void kick();
  void take_kicks() const;
  void flush_events();

  Device& device_;
  RuntimeDevice& owner_;
  DeviceLock lock_;

  // Under the lock.
  std::unique_ptr<PacketEngine> engine_;
  std::optional<TxBatch> batch_;
  CounterTable counters_;
  uint32_t gathered_posts_ = 0;  ///< since the last transmission
  Instant last_transmission_{};
  Instant last_advance_{};
  Instant last_arrival_{};
  Instant last_empty_poll_{};
  Instant last_published_{};
  std::vector<std::shared_ptr<EventSocket>> clogged_;  ///< sockets that events wait for
  bool communication_told_ = false;  ///< that there are events, since somebody held a Guard

  std::atomic<int64_t> last_post_ns_{INT64_MIN / 2};
  std::atomic<uint64_t> inline_polls_{0};
  std::atomic<int32_t> armed_{0};  ///< completion queues armed for an event

  // The background thread.
  pthread_t thread_{};
  bool started_ = false;
  int kick_fd_ = -1;
  std::atomic<bool> stop_{false};
  std::atomic<Mode> mode_{Mode::kAwake};
  std::atomic<int64_t> asleep_until_ns_{INT64_MIN};  ///< INT64_MIN: no need to wake it
  uint64_t polls_seen_ = 0;
  Duration rest_ = microseconds(50);
};

template <class Take>
auto Progress::poll(const CompletionQueue& cq, Take take) {
  if (auto taken = take()) return taken;
  inline_polls_.fetch_add(1, std::memory_order_relaxed);
  if (!lock_.try_lock()) return decltype(take()){};
  drive_inline(cq);
  return take();
}

}  // namespace urxe
