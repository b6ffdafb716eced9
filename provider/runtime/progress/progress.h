// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "packet/base/expected.h"
#include "packet/base/time.h"
#include "packet/engine/engine.h"
#include "packet/host/cycle_clock.h"
#include "packet/host/held_signals.h"
#include "packet/wire/tx_batch.h"
#include "provider/runtime/events/event_sink.h"
#include "provider/runtime/events/event_socket.h"
#include "provider/runtime/locks/device_lock.h"
#include "provider/runtime/progress/alarm.h"
#include "provider/runtime/progress/crowding.h"
#include "provider/runtime/progress/departures.h"
#include "provider/runtime/progress/frame_traffic.h"
#include "provider/runtime/progress/gathering.h"
#include "provider/runtime/progress/held_back.h"
#include "provider/runtime/progress/lingering.h"
#include "provider/runtime/progress/publication.h"
#include "provider/runtime/progress/reply_wait.h"
#include "provider/runtime/progress/rests.h"
#include "provider/runtime/progress/short_waits.h"
#include "transport/device/device.h"

namespace urxe {

/// Runs a device, and gives it the time. A thread that posts or polls drives the device itself
/// unless another thread does (on_post(), poll()). A background thread drives it while the
/// application does not poll; while the application polls, that thread rests and only checks now
/// and then that it still does. A thread that waits for a completion's event drives the device,
/// too, as long as it waits (wait_for_event()): so no other thread must wake before it does. If
/// nothing is due and nothing arrives all sleep without a timeout.
///
/// No doorbell is lost: a thread that unlocks the device then checks whether one was rung
/// meanwhile. Thread-safe, but for the functions that need the lock.
class Progress {
 public:
  /// Runs `device`, and reports its communication events with `owner`, to which it belongs.
  Progress(Device& device, RuntimeDevice& owner) : device_(device), owner_(&owner) {}
  /// Runs a further lane of a device, which has no communication.
  explicit Progress(Device& lane) : device_(lane) {}
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// What wait_for_joining() and wait_for_hop() have asked for.
  struct Awaited {
    bool joining = false;
    std::optional<Gid> hop;
  };
  /// Takes the lock of a lane. A thread that takes those of several lanes does so in their order.
  void lock() { lock_.lock(); }
  /// Sends what the holder has posted, delivers events and unlocks.
  [[nodiscard]] Awaited settle_and_unlock();
  /// Waits for the engine. Without a lock.
  void wait_for(const Awaited& awaited);

  /// Holds the lock; its end does the other two. RuntimeDevice::Guard holds those of all lanes.
  class Guard {
   public:
    explicit Guard(Progress& progress) : progress_(progress) { progress_.lock(); }
    ~Guard() { progress_.wait_for(progress_.settle_and_unlock()); }
    Guard(const Guard&) = delete;
    Guard& operator=(const Guard&) = delete;

   private:
    Progress& progress_;
  };

  // With the lock held:

  /// Takes the engine and starts the background thread. Once. EAGAIN, ENOMEM, EMFILE.
  Expected<void, Errno> start(std::unique_ptr<PacketEngine> engine);
  /// After start(): tells others of the device from now on.
  void publish(Publication publication) { publication_ = std::move(publication); }
  [[nodiscard]] PacketEngine* engine() { return engine_.get(); }
  /// What observers see of the device; before publish() nothing.
  [[nodiscard]] StatWriter& reports() { return publication_.reports; }
  /// The holder of the lock has opened an address, and goes on when packets for it come directly:
  /// before, they may come late, from which unreliable services suffer.
  void wait_for_joining() { awaited_.joining = true; }
  /// The holder of the lock goes on when packets can go to `destination`: the first ones would be
  /// lost, which an unreliable service does not repair. Not if the first hop does not answer.
  void wait_for_hop(const Gid& destination) { awaited_.hop = destination; }
  /// Opens the port for raw packets of an interface. EPERM and the like, which it prints on stderr.
  Expected<void, Errno> open_frames(uint32_t ifindex);
  /// The device's flow steering rules have changed. An error is printed on stderr.
  Expected<void, Errno> follow_flow_rules() { return frames_.follow_rules(device_); }
  /// Sends deferred ACKs, and datagrams that wait for others; called before their queue pair goes.
  void flush_acks();
  /// The queue pair is going to be destroyed: tells why it has failed, if it has and this was not
  /// told.
  void note_end(const QueuePair& qp);
  /// Flushes later the events that `socket` has no room for now.
  void flush_later(std::shared_ptr<EventSocket> socket);
  /// Sends posted requests; called before something that they need goes, or that must see what
  /// became of them: who waits for the lock may find that nobody has sent them yet.
  void transmit_posted();

  // Without the lock:

  /// Something was posted to `qp`. Transmits; but if another thread holds the lock, only rings the
  /// doorbell, which that thread looks at. Small requests may wait for others, see Gathering and
  /// HeldBack. A UD payload that is not inline is read before this returns, unless the engine has
  /// no room; for that, this waits for the lock.
  void on_post(QueuePair& qp);
  /// Takes completions by `take`. If it returns 0 or false, because there are none yet, drives the
  /// device and calls it again. The caller holds no lock.
  template <class Take>
  auto poll(const CompletionQueue& cq, Take take);
  /// The lane that counts a queue as armed; null: none does. It belongs to the queue.
  using CountedBy = std::atomic<Progress*>;
  /// A completion queue was armed: a thread is going to wait for its event. `channel` gets the
  /// event; null: nobody does.
  void on_armed(CountedBy& counted, EventSocket* channel);
  /// The queue is this lane's from now on. Does nothing unless `before` counts it.
  void take_over_armed(CountedBy& counted, Progress& before, EventSocket* channel);
  /// As on_armed(), of a queue to which this lane completes, too, and another one drives.
  void on_armed_elsewhere();
  static void on_disarmed(CountedBy& counted, EventSocket* channel);

  /// The calling thread is about to read `fd`, the channel's reading end, which blocks. Returns
  /// when there is something to read, and drives the device meanwhile unless another thread waits,
  /// too; or earlier, if it cannot. False: a signal has come that ends a read(2). May be cancelled.
  bool wait_for_event(EventSocket& channel, int fd);

  [[nodiscard]] bool is_held_by_caller() const { return lock_.is_mine(); }
  /// Waits until the thread that holds the device's lock now has released it; returns at once if
  /// that is the calling thread. Its callers may hold locks of the application that the holder
  /// needs, so it waits for a bounded time, which is far longer than a turn takes.
  void wait_for_holder();

  /// The process exits: sends what its peers should still get, and what CommunicationSink::at_exit
  /// adds. Waits for other threads' locks, but for a bounded time, because a thread that was
  /// interrupted or ended may hold one forever; does nothing if the device's cannot be had.
  void finish_at_exit();

  // fork(): the child must not disturb the parent.
  void before_fork();
  void after_fork_in_parent();
  /// Closes what the child inherited. The object is of no use afterwards.
  void after_fork_in_child();

 private:
  /// Between two times that counters, or reports, are published.
  static constexpr Duration kPublishInterval = milliseconds(10);

  enum class Mode : uint8_t { kAwake, kWatching, kResting };

  void note_arming(EventSocket* channel);
  [[nodiscard]] bool may_gather(QueuePair& qp, Instant now);
  [[nodiscard]] bool lock_for(QueuePair& qp);
  bool prepare(Instant now);
  void hold_back(Instant now);
  void note_taken();
  void note_overdue_ack(Instant now);
  void drive_inline(const CompletionQueue& cq);
  void give_way(const CompletionQueue& cq, Duration silence);
  void yield();
  void advance(Instant now);
  void leave_to_holder();
  bool sleep_until_packets(const CompletionQueue& cq, Duration time);
  void sleep_beside_others(Duration time);
  template <class Condition>
  void drive_while(Duration longest, Condition condition);
  void unlock();
  void drive_rounds(const CompletionQueue& cq, Instant now);
  void finish(Instant now);
  void wake_in_time(Instant now);
  void wake_by(Instant when);
  [[nodiscard]] bool end_communications();
  void say_farewell(Instant now);
  void tell_end(size_t place, Instant now);
  void tell_failures(Instant now);
  void explain(size_t place);
  bool receive(Instant now);
  /// For a thread that has found no packet.
  [[nodiscard]] AckPolicy policy_when_idle(Instant now) const;
  void transmit(AckPolicy policy, Instant now);
  void transmit_packets(AckPolicy policy, Instant now);
  bool send_batch();
  [[nodiscard]] bool waits_for_room() const { return batch_ && !batch_->empty() && !is_prepared_; }
  void transmit_frames(Instant now);
  void deliver_events();
  [[nodiscard]] Instant deadline(Instant now) const;
  void publish_counters(Instant now);
  [[nodiscard]] uint64_t changes() const;
  void publish_reports(Instant now);

  static void* thread_main(void* self);
  void run();
  [[nodiscard]] bool leaves_to_waiter();
  void serve();
  [[nodiscard]] bool lingers(Instant now);
  void serve_arrivals(Instant now);
  void note_intervals(Instant before, uint64_t packets, Instant now);
  void sleep_until(Instant when);
  bool sleep_until_kicked(Duration time);
  bool posts_since_look();
  void rest();
  [[nodiscard]] Departures::Return why_awake(bool kicked) const;
  void rest_deeply();

  // A thread of the application that waits: watch.h, wait_for_event.cc, give_way.cc.
  class Wait;
  static bool wait_until_readable(int fd, const SignalAlarm& alarm, int cancel_state);
  bool watch_until_readable(const EventSocket& channel, int fd, int cancel_state);
  bool look_before_sleep(const EventSocket& channel, uint64_t sent_before);
  bool serve_until_idle(const EventSocket& channel, uint64_t sent_before, Instant& end);
  bool serve_until_event(const EventSocket& channel, uint64_t sent_before, Instant now);

  void kick();
  void send_held_back();
  void flush_events(Instant now);
  void unlock_after_fork();

  Device& device_;
  RuntimeDevice* const owner_ = nullptr;  ///< null: a further lane
  DeviceLock lock_;
  std::atomic<bool> is_forking_{false};  ///< the lock is held by a thread that forks

  // Under the lock.
  CycleClock clock_;
  std::unique_ptr<PacketEngine> engine_;
  EngineLane* lane_ = nullptr;  ///< the engine's only one that is used
  std::optional<TxBatch> batch_;
  bool is_prepared_ = false;  ///< the engine has not been offered the batch yet
  FrameTraffic frames_;
  Publication publication_;
  Gathering gathering_;
  Instant last_advance_{};
  Instant last_arrival_{};
  Instant last_empty_poll_{};
  Instant last_yield_{};
  Instant last_flush_{};
  Instant last_published_{};
  Instant last_reports_{};
  ReplyWait reply_wait_;
  Lingering lingering_;
  bool takes_from_memory_ = false;                     ///< the last receive() did
  std::vector<std::shared_ptr<EventSocket>> clogged_;  ///< sockets that events wait for
  Awaited awaited_;                                    ///< by the holder of the lock
  uint64_t failures_told_ = 0;                         ///< of Counters::failures
  bool reports_are_due_ = false;     ///< something may have changed since the last ones
  uint64_t turns_ = 0;               ///< of the application's threads
  uint64_t round_began_with_ = 0;    ///< changes() when the first of the reports was written
  bool has_left_ = false;            ///< say_farewell() was called: nothing is sent any more
  bool communication_told_ = false;  ///< events were reported since the last Guard

  std::atomic<uint64_t> inline_polls_{0};
  std::atomic<uint64_t> inline_posts_{0};  ///< changed under the lock
  std::atomic<uint32_t> missed_locks_{0};  ///< polls in a row that found the lock taken
  Crowding crowding_;
  std::atomic<int32_t> armed_{0};  ///< completion queues armed for an event
  std::atomic<uint64_t> arms_{0};  ///< how often one was armed

  // The background thread.
  pthread_t thread_{};
  bool started_ = false;
  int kick_fd_ = -1;
  Alarm alarm_;
  std::atomic<bool> stop_{false};
  std::atomic<Mode> mode_{Mode::kAwake};
  std::atomic<int64_t> asleep_until_ns_{INT64_MIN};  ///< INT64_MIN: no need to wake it
  HeldBack held_back_;
  uint64_t polls_seen_ = 0;
  uint64_t posts_seen_ = 0;
  uint64_t waits_seen_ = 0;
  uint64_t arms_seen_ = 0;  ///< under the lock
  Rests rests_;
  Departures departures_;
  std::atomic<bool> request_came_{false};  ///< since the application last posted

  // A thread of the application that waits for an event, and watches the device.
  int waiter_kick_fd_ = -1;
  SignalAlarm signal_alarm_;                         ///< of the watcher
  ShortWaits short_waits_;                           ///< of the watcher
  std::atomic<int> readers_{0};                      ///< threads that wait for events
  std::atomic<bool> waiting_{false};                 ///< one of them watches
  std::atomic<uint64_t> waits_{0};                   ///< how often one began to
  std::atomic<uint64_t> watch_epoch_{1};             ///< see EventSocket::Use
  std::atomic<int64_t> waiter_until_ns_{INT64_MIN};  ///< as asleep_until_ns_
  std::atomic<bool> rests_deeply_{false};            ///< the background thread: until it is kicked
  std::atomic<bool> watcher_left_{false};            ///< that is why it was kicked
};

template <class Take>
auto Progress::poll(const CompletionQueue& cq, Take take) {
  decltype(take()) taken{};
  if (!cq.empty()) taken = take();
  if (!taken) {
    inline_polls_.fetch_add(1, std::memory_order_relaxed);
    if (!lock_.try_lock()) {
      leave_to_holder();
      return taken;
    }
    drive_inline(cq);
    if (!cq.empty()) taken = take();
  }
  if (taken) note_taken();
  return taken;
}

}  // namespace urxe
