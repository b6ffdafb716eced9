// SPDX-License-Identifier: BSD-2-Clause
// A thread of the application that waits for a completion's event drives the device while it waits.
//
// One such thread watches: it sleeps until packets come, and takes them itself. The background
// thread rests meanwhile; the thread that leaves wakes it only if it rests for good, or if others
// need it. If several threads wait, the background thread watches for all.
#include <poll.h>
#include <pthread.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "packet/host/clock.h"
#include "packet/host/patient_poll.h"
#include "packet/host/uncancelled.h"
#include "provider/runtime/progress/watch.h"

namespace urxe {
namespace {

/// Bursts received before the thread looks whether it may sleep.
constexpr int kBurstsInOneGo = 16;

// A thread that is cancelled leaves the functions that sleep without passing their ends. What the
// address sanitizer has marked around their variables would stay marked, and it finds fault with
// its own functions that use that part of the stack next; hence [[gnu::no_sanitize_address]].

/// Polls with the cancelability that the thread had. `end`: kNever, or when it gives up.
[[gnu::no_sanitize_address]] void poll_cancellable(std::span<pollfd> fds, Instant end,
                                                   int cancel_state) {
  timespec timeout{};
  if (end != kNever) {
    const int64_t ns = std::max<int64_t>((end - clock_now()).ns, 0);
    timeout = {static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  }
  int disabled = 0;
  pthread_setcancelstate(cancel_state, &disabled);
  patient_poll(fds, end == kNever ? nullptr : &timeout);
  pthread_setcancelstate(disabled, nullptr);
}

}  // namespace

/// The application is going to poll, or to wait again. If it does neither, the background thread
/// finds out after a rest; others' events must not wait for that.
void Progress::Wait::leave() const {
  progress_.waiting_.store(false);
  const int armed_here = channel_ != nullptr ? channel_->use().armed.load() : 0;
  if (progress_.readers_.load() > 1 || progress_.armed_.load() > armed_here) {
    progress_.kick();
  } else if (progress_.rests_deeply_.load()) {
    progress_.watcher_left_.store(true);
    uncancelled::ring_bell(progress_.kick_fd_);
  }
}

void Progress::on_armed(CountedBy& counted, EventSocket* channel) {
  Progress* none = nullptr;
  if (counted.compare_exchange_strong(none, this)) {
    armed_.fetch_add(1);
    if (channel != nullptr) channel->use().armed.fetch_add(1);
  }
  note_arming(channel);
}

void Progress::take_over_armed(CountedBy& counted, Progress& before, EventSocket* channel) {
  Progress* expected = &before;
  if (!counted.compare_exchange_strong(expected, this)) return;
  before.armed_.fetch_sub(1);
  armed_.fetch_add(1);
  note_arming(channel);
}

/// A channel's events were waited for by a thread that watches the device meanwhile: it is expected
/// to do so again. If it does not, the background thread finds out within one rest.
void Progress::note_arming(EventSocket* channel) {
  arms_.fetch_add(1, std::memory_order_relaxed);
  const bool is_expected =
      channel != nullptr && channel->use().awaited_in.load() == watch_epoch_.load();
  if (mode_.load() == Mode::kResting && !is_expected && !waiting_.load()) kick();
}

void Progress::on_armed_elsewhere() {
  arms_.fetch_add(1, std::memory_order_relaxed);
  if (mode_.load() == Mode::kResting && !waiting_.load()) kick();
}

void Progress::on_disarmed(CountedBy& counted, EventSocket* channel) {
  Progress* const lane = counted.exchange(nullptr);
  if (lane == nullptr) return;
  lane->armed_.fetch_sub(1);
  if (channel != nullptr) channel->use().armed.fetch_sub(1);
}

bool Progress::wait_for_event(EventSocket& channel, int fd) {
  for (;;) {
    const HeldSignals signals;  // the last to end: a handler may leave by longjmp(3)
    const Uncancelled thread;
    Wait wait(*this, &channel);
    SignalAlarm own_alarm;
    SignalAlarm& alarm = wait.watches() ? signal_alarm_ : own_alarm;
    if (!alarm.watch(signals)) return true;
    const bool has_event = wait.watches() ? watch_until_readable(channel, fd, thread.before())
                                          : wait_until_readable(fd, own_alarm, thread.before());
    if (has_event) return true;
    if (signals.one_interrupts()) return false;
  }
}

/// False: a signal has come.
[[gnu::no_sanitize_address]] bool Progress::wait_until_readable(int fd, const SignalAlarm& alarm,
                                                                int cancel_state) {
  pollfd fds[2] = {{fd, POLLIN, 0}, {alarm.fd(), POLLIN, 0}};
  while (fds[0].revents == 0 && fds[1].revents == 0) poll_cancellable(fds, kNever, cancel_state);
  return fds[0].revents != 0;
}

/// False: a signal has come.
[[gnu::no_sanitize_address]] bool Progress::watch_until_readable(const EventSocket& channel, int fd,
                                                                 int cancel_state) {
  const uint64_t sent_before = channel.sent();
  if (look_before_sleep(channel, sent_before)) return true;
  Instant end = kNever;
  while (serve_until_idle(channel, sent_before, end)) {
    pollfd fds[6] = {{waiter_kick_fd_, POLLIN, 0},
                     {lane_->wait_fd(), POLLIN, 0},
                     {frames_.receive_fd(), POLLIN, 0},
                     {frames_.blocked_fd(), POLLOUT, 0},
                     {fd, POLLIN, 0},
                     {signal_alarm_.fd(), POLLIN, 0}};
    poll_cancellable(fds, end, cancel_state);
    waiter_until_ns_.store(INT64_MIN);
    if (fds[0].revents != 0) uncancelled::silence_bell(waiter_kick_fd_);
    if ((fds[2].revents & POLLERR) != 0) FramePort::clear_error(fds[2].fd);
    if (fds[4].revents != 0) return true;
    if (fds[5].revents != 0) return false;
  }
  return true;
}

/// Drives the device as long as an event may come soon; see ShortWaits. False: none has come.
bool Progress::look_before_sleep(const EventSocket& channel, uint64_t sent_before) {
  const Instant begin = clock_now();
  if (crowding_.is_crowded(begin)) return false;
  const Duration time = short_waits_.begin();
  bool has_event = false;
  for (Instant now = begin; !has_event && now < begin + time; now = clock_now()) {
    lock_.lock();
    has_event = started_ && serve_until_event(channel, sent_before, now);
    if (has_event) {
      finish(now);
      short_waits_.came(now - begin);
    }
    unlock();
    if (!has_event) yield();
  }
  if (time > Duration{} && !has_event) short_waits_.did_not_come();
  return has_event;
}

/// Drives the device until nothing is left to do before `end`; the engine then tells of what comes.
/// False: there is an event to read, or no device to drive.
bool Progress::serve_until_idle(const EventSocket& channel, uint64_t sent_before, Instant& end) {
  for (;;) {
    lock_.lock();
    if (!started_) {
      unlock();
      return false;
    }
    // The background thread watches: it leaves the device to this one.
    if (mode_.load() == Mode::kWatching) uncancelled::ring_bell(kick_fd_);
    lane_->end_wait();
    Instant now = clock_.now();
    lingering_.begin();
    bool has_event = serve_until_event(channel, sent_before, now);
    while (!has_event && lingering_.lasts(now) && !crowding_.is_crowded(now)) {
      unlock();  // others may take the lock
      yield();
      lock_.lock();
      now = clock_.now();
      has_event = serve_until_event(channel, sent_before, now);
    }
    finish(now);
    end = deadline(now);
    const bool is_idle = !has_event && !lane_->begin_wait();
    if (is_idle) waiter_until_ns_.store(end.ns);
    unlock();
    if (has_event || is_idle) return is_idle;
  }
}

/// Takes what has arrived, up to the event: an ACK may share its datagram with the application's
/// answer. False: no event has come.
bool Progress::serve_until_event(const EventSocket& channel, uint64_t sent_before, Instant now) {
  for (int burst = 0; burst < kBurstsInOneGo && channel.sent() == sent_before; ++burst) {
    const bool any = receive(now);
    if (!any) advance(now);
    deliver_events();
    const bool answers = channel.sent() != sent_before;
    transmit(any || answers ? AckPolicy::kUrgentOnly : AckPolicy::kAll, now);
    if (!any) break;
  }
  return channel.sent() != sent_before;
}

}  // namespace urxe
