// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/progress/progress.h"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <new>
#include <utility>

#include "packet/base/fence.h"
#include "packet/base/fetch_ahead.h"
#include "packet/host/clock.h"
#include "packet/host/uncancelled.h"
#include "transport/device/receive_order.h"

namespace urxe {
namespace {

/// Interval of the timers while packets keep arriving.
constexpr Duration kAdvanceAnyway = milliseconds(10);
/// How long the opener of an address waits. The engine mostly needs far less, on a busy host more.
constexpr Duration kJoiningTime = milliseconds(50);
/// How long a queue pair waits for the link address of its first hop.
constexpr Duration kHopTime = seconds(3);
/// How long an ACK may be deferred while nobody polls.
constexpr Duration kDeferredAckDelay = microseconds(50);
constexpr Duration kEventRetryDelay = milliseconds(1);
/// Between looks whether the engine has room, if nothing else wakes the thread.
constexpr Duration kRoomInterval = milliseconds(1);

}  // namespace

/// The background thread must wait for frames, too.
Expected<void, Errno> Progress::open_frames(uint32_t ifindex) {
  if (frames_.is_open()) return {};
  auto opened = frames_.open(ifindex);
  if (opened) kick();
  return opened;
}

void Progress::flush_acks() {
  const bool any = is_prepared_ || device_.has_deferred_acks();
  if (engine_ && any) transmit(AckPolicy::kAll, clock_.now());
}

void Progress::transmit_posted() {
  transmit(AckPolicy::kUrgentOnly, clock_.now());
}

void Progress::wait_for_holder() {
  Patience patience;
  full_fence();  // between the caller's mark and the flag
  const auto forks = [this] { return is_forking_.load(); };
  if (lock_.is_mine() || !lock_.lock_unless(patience, forks)) return;
  lock_.unlock();
  full_fence();
  // A thread that rang the doorbell meanwhile found the lock taken. The device is not driven here,
  // because that could allocate.
  if (device_.doorbell_pending() && kick_fd_ >= 0) kick();
}

bool Progress::receive(Instant now) {
  const bool had_acks = device_.has_deferred_acks();
  std::span<const RxPacket> packets = lane_->receive();
  takes_from_memory_ = lane_->reads_memory();
  for (size_t i = 0; i < packets.size(); ++i) {
    if (takes_from_memory_ && i + 1 < packets.size()) fetch_ahead(packets[i + 1].bytes);
    const bool ack_first = ack_goes_first(packets, i);
    if (ack_first) device_.receive(packets[i + 1], now);
    device_.receive(packets[i], now);
    if (ack_first) ++i;
  }
  if (takes_from_memory_) lingering_.passed_through_memory(packets.size());
  const bool any = frames_.receive(device_, now) || !packets.empty();
  if (any) last_arrival_ = now;
  reply_wait_.receives(packets.size(), now);
  if (!had_acks && device_.has_deferred_acks()) {
    reply_wait_.owes_ack(now);
    request_came_.store(true, std::memory_order_relaxed);
  }
  if (any && now - last_advance_ > kAdvanceAnyway) {
    advance(now);
  }
  return any;
}

/// Serves the timers.
void Progress::advance(Instant now) {
  device_.set_host_is_crowded(crowding_.is_crowded(now));
  device_.advance(now);
  last_advance_ = now;
}

AckPolicy Progress::policy_when_idle(Instant now) const {
  return reply_wait_.holds(now, device_.awaits_answers()) ? AckPolicy::kUrgentOnly
                                                          : AckPolicy::kAll;
}

void Progress::transmit(AckPolicy policy, Instant now) {
  if (!batch_ || has_left_) return;
  gathering_.clear();
  held_back_.end();
  transmit_packets(policy, now);
  if (frames_.is_open()) transmit_frames(now);
}

/// If the socket's buffer is full, the background thread waits for room.
void Progress::transmit_frames(Instant now) {
  const bool was_blocked = frames_.blocked_fd() >= 0;
  frames_.transmit(device_, now);
  if (!was_blocked && frames_.blocked_fd() >= 0) kick();
}

void Progress::transmit_packets(AckPolicy policy, Instant now) {
  bool more = send_batch();
  while (more) {
    more = device_.transmit(*batch_, now, policy);
    if (batch_->empty()) return;
    more = send_batch() && more;
  }
}

/// False: the engine has no room for the rest of the batch. It stays as it is until a later turn,
/// and the device keeps what it has meanwhile.
bool Progress::send_batch() {
  is_prepared_ = false;
  if (batch_->empty()) return true;
  const size_t taken = lane_->transmit(*batch_);
  batch_->gather();  // payloads may be taken away once the lock is free
  if (takes_from_memory_) lingering_.passed_through_memory(taken);
  return batch_->empty();
}

void Progress::flush_later(std::shared_ptr<EventSocket> socket) {
  if (socket == nullptr || std::ranges::find(clogged_, socket) != clogged_.end()) return;
  try {
    clogged_.push_back(std::move(socket));
  } catch (const std::bad_alloc&) {
    // The socket sends what waits in it with its next event.
  }
}

/// Sends the events that have waited for room in their sockets. Each look is a system call.
void Progress::flush_events(Instant now) {
  if (clogged_.empty() || now - last_flush_ < kEventRetryDelay) return;
  last_flush_ = now;
  std::erase_if(clogged_, [](const auto& socket) { return socket->flush(); });
}

void Progress::deliver_events() {
  if (!device_.has_news()) return;
  while (CompletionQueue* cq = device_.take_notified()) {
    flush_later(event_sink().completion(cq->user()));
  }
  while (std::optional<AsyncEvent> event = device_.take_event()) {
    flush_later(event_sink().asynchronous(*event));
  }
  if (owner_ == nullptr) return;
  if (device_.cm().has_event() && !communication_told_) {
    communication_told_ = true;
    if (communication_sink().events != nullptr) communication_sink().events(*owner_);
  }
  if (device_.mads().take_news() && management_sink().events != nullptr) {
    management_sink().events(*owner_);
  }
}

Instant Progress::deadline(Instant now) const {
  // What the device has to send waits, too, and not every engine tells of room.
  if (waits_for_room()) return now + kRoomInterval;
  Instant when = device_.next_deadline().value_or(kNever);
  if (device_.has_deferred_acks()) when = std::min(when, now + kDeferredAckDelay);
  if (reports_are_due_) when = std::min(when, last_reports_ + kPublishInterval);
  if (!clogged_.empty()) when = std::min(when, now + kEventRetryDelay);
  return when;
}

void Progress::finish(Instant now) {
  ++turns_;
  flush_events(now);
  deliver_events();
  if (now - last_published_ > kPublishInterval) publish_counters(now);
  if (device_.counters().failures != failures_told_) tell_failures(now);
  publish_reports(now);
  wake_in_time(now);
}

/// Makes sure that a sleeping thread wakes by the next deadline. If a completion queue is armed,
/// the background thread is woken at once, so that it is already running when the answer comes.
void Progress::wake_in_time(Instant now) {
  const int64_t asleep_until = asleep_until_ns_.load();
  const int64_t waiter_until = waiter_until_ns_.load();
  if (asleep_until == INT64_MIN && waiter_until == INT64_MIN) return;
  const Instant when = deadline(now);
  if (when.ns >= std::max(asleep_until, waiter_until)) return;
  if (when.ns < waiter_until || armed_.load() != 0) return kick();
  wake_by(when);
}

/// If the background thread sleeps, it wakes then at the latest.
void Progress::wake_by(Instant when) {
  int64_t asleep_until = asleep_until_ns_.load();
  if (when.ns >= asleep_until) return;
  alarm_.set(when);
  asleep_until_ns_.compare_exchange_strong(asleep_until, when.ns);
}

void Progress::wait_for(const Awaited& awaited) {
  if (awaited.joining) drive_while(kJoiningTime, [&] { return engine_->is_joining(); });
  if (awaited.hop) drive_while(kHopTime, [&] { return !engine_->find_hop(*awaited.hop); });
}

/// Other threads may drive the device meanwhile, too.
template <class Condition>
void Progress::drive_while(Duration longest, Condition condition) {
  const Instant end = clock_now() + longest;
  for (Instant now = clock_now(); now < end; now = clock_now()) {
    pollfd source{-1, POLLIN, 0};
    if (lock_.try_lock()) {
      const bool waits = engine_ && condition();
      if (waits) {
        source.fd = lane_->wait_fd();
        receive(now);
        advance(now);
        transmit(AckPolicy::kUrgentOnly, now);
        finish(now);
      }
      unlock();
      if (!waits) return;
    }
    ::poll(&source, 1, 1);
  }
}

Progress::Awaited Progress::settle_and_unlock() {
  const Awaited awaited = std::exchange(awaited_, Awaited());
  communication_told_ = false;
  if (engine_) {
    Instant now = clock_.now();
    transmit(AckPolicy::kUrgentOnly, now);
    finish(now);
  }
  unlock();
  return awaited;
}

void Progress::unlock() {
  for (;;) {
    // The turn that finds room takes the doorbells; a forked child leaves them to its parent.
    const bool leaves_them = waits_for_room() || !batch_;
    lock_.unlock();
    if (leaves_them || !device_.doorbell_pending() || !lock_.try_lock()) return;
    Instant now = clock_.now();
    transmit(AckPolicy::kUrgentOnly, now);
    finish(now);
  }
}

/// Wakes who watches the device.
void Progress::kick() {
  asleep_until_ns_.store(INT64_MIN);
  waiter_until_ns_.store(INT64_MIN);
  uncancelled::ring_bell(kick_fd_);
  if (waiting_.load()) uncancelled::ring_bell(waiter_kick_fd_);
}

/// Later handlers of fork() may wait for a thread that is in wait_for_holder(). That one need not
/// wait, because the thread that forks accesses no registered memory.
void Progress::before_fork() {
  lock_.lock();
  is_forking_.store(true);
}

void Progress::after_fork_in_parent() {
  unlock_after_fork();
  // A thread that posted during the fork has found the lock taken.
  if (device_.doorbell_pending() && kick_fd_ >= 0) kick();
}

void Progress::unlock_after_fork() {
  is_forking_.store(false);
  full_fence();
  lock_.unlock();
}

void Progress::after_fork_in_child() {
  unlock_after_fork();
  if (engine_) engine_->abandon();
  engine_.reset();
  lane_ = nullptr;
  batch_.reset();
  is_prepared_ = false;
  frames_.after_fork_in_child();
  publication_.counters = CounterTable();
  publication_.reports.abandon();
  for (int* fd : {&kick_fd_, &waiter_kick_fd_}) {
    if (*fd >= 0) uncancelled::close(*fd);
    *fd = -1;
  }
  alarm_.close();
  started_ = false;  // the thread stayed with the parent
}

}  // namespace urxe
