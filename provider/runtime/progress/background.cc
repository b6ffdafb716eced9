// SPDX-License-Identifier: BSD-2-Clause
// The background thread of Progress.
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "packet/host/clock.h"
#include "packet/host/file_descriptor.h"
#include "packet/host/patient_poll.h"
#include "packet/host/start_thread.h"
#include "packet/host/uncancelled.h"
#include "provider/runtime/progress/progress.h"
#include "transport/path/congestion.h"

namespace urxe {
namespace {

/// So many polls between two looks mean that the application is polling.
constexpr uint64_t kBusyPolls = 2;
constexpr Duration kSlice = microseconds(100);
/// Bursts received before other threads can take the lock.
constexpr int kBurstsAtOnce = 16;
constexpr Duration kForever{INT64_MAX / 2};

timespec to_timespec(Duration d) {
  int64_t ns = std::max<int64_t>(d.ns, 0);
  return {static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
}

/// Asks for short time slices. The thread then preempts one that spins, such as an application that
/// waits for its memory to change, instead of waiting for the end of that thread's slice. Needs no
/// privilege; kernels before 6.12 ignore it. A program that has chosen another policy keeps it.
void ask_for_short_slices() {
  if (sched_getscheduler(0) != SCHED_OTHER) return;
  struct {
    uint32_t size;
    uint32_t policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime;
    uint64_t deadline;
    uint64_t period;
  } attributes{};
  attributes.size = sizeof attributes;
  attributes.policy = SCHED_OTHER;
  attributes.nice = getpriority(PRIO_PROCESS, 0);
  attributes.runtime = static_cast<uint64_t>(kSlice.ns);
  syscall(SYS_sched_setattr, 0, &attributes, 0U);
}

}  // namespace

Expected<void, Errno> Progress::start(std::unique_ptr<PacketEngine> engine) {
  TxBatch batch(engine->batch_limits());
  FileDescriptor kicks(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  FileDescriptor waiter_kicks(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!kicks || !waiter_kicks || !alarm_.open()) return error(errno);
  kick_fd_ = kicks.get();
  engine_ = std::move(engine);
  lane_ = &engine_->lane(0);
  batch_.emplace(std::move(batch));
  int result = start_thread(&thread_, thread_main, this);
  if (result != 0) {
    kick_fd_ = -1;
    batch_.reset();
    engine_.reset();
    lane_ = nullptr;
    return error(result);
  }
  kick_fd_ = kicks.release();
  waiter_kick_fd_ = waiter_kicks.release();
  started_ = true;
  return {};
}

Progress::~Progress() {
  if (started_) {
    stop_.store(true);
    kick();
    pthread_join(thread_, nullptr);
  }
  publish_counters(clock_now());
  for (int fd : {kick_fd_, waiter_kick_fd_}) {
    if (fd >= 0) close(fd);
  }
}

void* Progress::thread_main(void* self) {
  pthread_setname_np(pthread_self(), "urxe");
  prctl(PR_SET_TIMERSLACK, 1UL, 0UL, 0UL, 0UL);
  ask_for_short_slices();
  static_cast<Progress*>(self)->run();
  return nullptr;
}

void Progress::run() {
  while (!stop_.load()) {
    if (mode_.load() == Mode::kResting) {
      rest();
    } else {
      serve();
    }
  }
}

/// Leaves the device to a thread of the application that watches it. With the lock held.
bool Progress::leaves_to_waiter() {
  if (!waiting_.load()) return false;
  mode_.store(Mode::kResting);
  rests_.end();
  unlock();
  return true;
}

/// Drives the device, then sleeps until something happens, or goes to rest.
void Progress::serve() {
  lock_.lock();
  if (leaves_to_waiter()) return;
  lane_->end_wait();
  Instant now = clock_.now();
  lingering_.begin();
  serve_arrivals(now);
  while (lingers(now) && !waiting_.load()) {
    unlock();  // others may take the lock
    sched_yield();
    lock_.lock();
    const Instant before = std::exchange(now, clock_.now());
    lingering_.yielded(now - before, now);
    serve_arrivals(now);
  }
  flush_events(now);
  deliver_events();
  publish_counters(now);
  publish_reports(now);
  uint64_t polls = inline_polls_.load(std::memory_order_relaxed);
  bool application_polls = polls - polls_seen_ >= kBusyPolls;
  polls_seen_ = polls;
  if (application_polls && armed_.load() == 0) {
    departures_.goes_to_rest();
    mode_.store(Mode::kResting);
    // A thread that arms a queue now either sees the mode, or its count is seen here.
    if (armed_.load() != 0) mode_.store(Mode::kAwake);
    unlock();
    return;
  }
  if (leaves_to_waiter()) return;
  Instant wake = deadline(now);
  if (device_.has_deferred_acks()) wake = std::min(wake, reply_wait_.until());
  if (lane_->begin_wait()) {
    unlock();
    return;
  }
  mode_.store(Mode::kWatching);
  asleep_until_ns_.store(wake.ns);
  unlock();
  sleep_until(wake);
  asleep_until_ns_.store(INT64_MIN);
  mode_.store(Mode::kAwake);
}

/// Whether the thread looks again instead of going to sleep.
bool Progress::lingers(Instant now) {
  const bool application_polls =
      inline_polls_.load(std::memory_order_relaxed) - polls_seen_ >= kBusyPolls;
  return lingering_.lasts(now) && !application_polls && !crowding_.is_crowded(now) && !stop_.load();
}

/// `packets` have come; those before them, at `before`. If a thread of the application sleeps until
/// a completion comes, it wants the processor itself.
void Progress::note_intervals(Instant before, uint64_t packets, Instant now) {
  const uint64_t arms = arms_.load(std::memory_order_relaxed);
  const bool waits_for_events = armed_.load() != 0 || std::exchange(arms_seen_, arms) != arms;
  if (waits_for_events) return;
  const bool has_little_room = device_.config().socket_window < kWideWindow;
  lingering_.came(packets, last_arrival_ - before, has_little_room, now);
}

void Progress::serve_arrivals(Instant now) {
  const Instant before = last_arrival_;
  const uint64_t packets_before = device_.counters().received_packets;
  int bursts = 0;
  bool drained = false;
  while (!drained && bursts++ < kBurstsAtOnce) {
    drained = !receive(now);
    if (!drained) transmit(AckPolicy::kUrgentOnly, now);
  }
  const uint64_t packets = device_.counters().received_packets - packets_before;
  // While the application posts or polls, it would have taken them itself.
  const bool is_alone =
      inline_polls_.load(std::memory_order_relaxed) == polls_seen_ && !posts_since_look();
  if (is_alone) departures_.serves(packets);
  note_intervals(before, packets, now);
  if (!drained) return;
  advance(now);
  const bool owes_ack = device_.has_deferred_acks();
  transmit(policy_when_idle(now), now);
  if (is_alone && owes_ack && !device_.has_deferred_acks()) departures_.serves(1);
}

void Progress::sleep_until(Instant when) {
  // poll() leaves out those that are -1.
  pollfd fds[5] = {{kick_fd_, POLLIN, 0},
                   {lane_->wait_fd(), POLLIN, 0},
                   {frames_.receive_fd(), POLLIN, 0},
                   {frames_.blocked_fd(), POLLOUT, 0},
                   {alarm_.fd(), POLLIN, 0}};
  timespec timeout{};
  if (when != kNever) timeout = to_timespec(when - clock_now());
  const int ready = patient_poll(fds, when == kNever ? nullptr : &timeout);
  if (ready == 0) crowding_.woke_up(clock_now() - when, clock_now());
  if (fds[0].revents != 0) uncancelled::silence_bell(kick_fd_);
  if ((fds[2].revents & POLLERR) != 0) FramePort::clear_error(fds[2].fd);
  if (fds[4].revents != 0) alarm_.silence();
}

/// True: it was kicked.
bool Progress::sleep_until_kicked(Duration time) {
  pollfd fd{kick_fd_, POLLIN, 0};
  const timespec timeout = to_timespec(time);
  patient_poll({&fd, 1}, time == kForever ? nullptr : &timeout);
  if (fd.revents != 0) uncancelled::silence_bell(kick_fd_);
  return fd.revents != 0;
}

/// The application polls, or waits for events and watches the device: sleeps, and checks now and
/// then that it still does.
void Progress::rest() {
  Instant now = clock_now();
  if (rests_.begin(now)) held_back_.application_polls(now);
  const Instant end = now + rests_.length();
  bool kicked = false;
  while (!kicked && now < end) {
    kicked = sleep_until_kicked(held_back_.rests(now, end - now));
    now = clock_now();
    if (held_back_.are_due(now)) send_held_back();
  }
  const uint64_t polls = inline_polls_.load(std::memory_order_relaxed);
  const uint64_t waits = waits_.load();
  const bool still_waits = waits == waits_seen_ && waiting_.load();
  const bool polled = polls != polls_seen_;
  const bool posts_on = posts_since_look() && !polled && rests_.may_post_on(now);
  const bool still_drives = polled || posts_on || waits != waits_seen_ || still_waits;
  polls_seen_ = polls;
  waits_seen_ = waits;
  if (kicked || !still_drives) {
    departures_.returns(why_awake(kicked));
    mode_.store(Mode::kAwake);
  }
  // Someone waits for an event in another way than was expected.
  if (!still_drives && armed_.load() != 0) watch_epoch_.fetch_add(1);
  if (still_waits && rests_.are_long() && !kicked) {
    rest_deeply();
    return;
  }
  if (!still_drives) {
    rests_.end();
  } else if (!posts_on) {
    rests_.lengthen(now);
  }
}

/// Whether the application has posted since the last look.
bool Progress::posts_since_look() {
  const uint64_t posts = inline_posts_.load(std::memory_order_relaxed);
  return std::exchange(posts_seen_, posts) != posts;
}

Departures::Return Progress::why_awake(bool kicked) const {
  if (!kicked) return Departures::Return::kNobodyPolls;
  return departures_.was_told() ? Departures::Return::kTold : Departures::Return::kOther;
}

/// A thread has waited for a whole rest, and may wait for hours. It wakes this one when it
/// leaves.
void Progress::rest_deeply() {
  bool kicked = false;
  rests_deeply_.store(true);
  const bool none_are_held = held_back_.rests(clock_now(), kForever) == kForever;
  if (none_are_held && waiting_.load()) kicked = sleep_until_kicked(kForever);
  rests_deeply_.store(false);
  if (held_back_.are_due(clock_now())) send_held_back();
  rests_.end();
  // Kicked for another reason, it looks at once.
  if (kicked && !watcher_left_.exchange(false)) mode_.store(Mode::kAwake);
}

/// Sends what waits for others, unless a thread that will send it drives the device.
void Progress::send_held_back() {
  if (!lock_.try_lock()) return;
  const Instant now = clock_.now();
  transmit(AckPolicy::kUrgentOnly, now);
  finish(now);
  unlock();
}

}  // namespace urxe
