// SPDX-License-Identifier: BSD-2-Clause
// What a thread of the application that polls in vain does for others that want its processor.
#include <poll.h>
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <span>

#include "packet/host/clock.h"
#include "packet/host/held_signals.h"
#include "packet/host/uncancelled.h"
#include "provider/runtime/progress/watch.h"

namespace urxe {
namespace {

/// How long a poll sleeps if no packet comes: longer if none has come for long, because a hundred
/// processes that wake up ten thousand times a second are a crowd by themselves. The application
/// may look at other things between two polls; on a crowded machine a yield takes longer.
constexpr Duration kShortestPollSleep = microseconds(100);
constexpr Duration kLongestPollSleep = milliseconds(2);
constexpr int64_t kSleepFraction = 4;  ///< of the time since the last packet
/// After so many polls in a row that find the lock taken, some 20 us, the caller gives way.
constexpr uint32_t kMostMissedLocks = 1024;

/// ppoll(2) without the C library, which would make it a cancellation point: ibv_poll_cq is none.
void sleep_on(std::span<pollfd> fds, Duration time) {
  timespec timeout{0, static_cast<long>(std::max<int64_t>(time.ns, 0))};
  syscall(SYS_ppoll, fds.data(), fds.size(), &timeout, nullptr, size_t{0});
}

}  // namespace

/// Another thread has the lock, and drives the device. It may need the caller's processor for that.
void Progress::leave_to_holder() {
  if (missed_locks_.fetch_add(1, std::memory_order_relaxed) + 1 < kMostMissedLocks) return;
  missed_locks_.store(0, std::memory_order_relaxed);
  if (crowding_.is_crowded(clock_now())) {
    sleep_on({}, kShortestPollSleep);
  } else {
    yield();
  }
}

void Progress::yield() {
  const Instant before = clock_now();
  sched_yield();
  const Instant after = clock_now();
  crowding_.yielded(after - before, after);
}

/// The caller does not hold the lock. Nothing has come for the time `silence`.
void Progress::give_way(const CompletionQueue& cq, Duration silence) {
  if (!crowding_.is_crowded(clock_now())) return yield();
  const Duration time =
      std::clamp(Duration{silence.ns / kSleepFraction}, kShortestPollSleep, kLongestPollSleep);
  if (!sleep_until_packets(cq, time)) sleep_beside_others(time);
}

/// Another thread drives the device, or will once it has a processor. The completions that it adds
/// are found after the sleep.
void Progress::sleep_beside_others(Duration time) {
  pollfd fd{lane_->wait_fd(), POLLIN, 0};
  sleep_on({&fd, 1}, time);
}

/// False: another thread watches the device, or waits for events of it.
bool Progress::sleep_until_packets(const CompletionQueue& cq, Duration time) {
  if (mode_.load() != Mode::kResting || armed_.load() != 0) return false;
  const HeldSignals signals;  // a handler may leave by longjmp(3)
  const Wait wait(*this, nullptr);
  if (!wait.watches()) return false;
  lock_.lock();
  Instant now = clock_.now();
  drive_rounds(cq, now);
  finish(now);
  const bool sleeps = cq.empty() && !lane_->begin_wait();
  const Instant end = std::min(deadline(now), now + time);
  if (sleeps) waiter_until_ns_.store(end.ns);
  unlock();
  if (!sleeps) return true;
  pollfd fds[4] = {{waiter_kick_fd_, POLLIN, 0},
                   {lane_->wait_fd(), POLLIN, 0},
                   {frames_.receive_fd(), POLLIN, 0},
                   {frames_.blocked_fd(), POLLOUT, 0}};
  sleep_on(fds, end - now);
  waiter_until_ns_.store(INT64_MIN);
  if (fds[0].revents != 0) uncancelled::silence_bell(waiter_kick_fd_);
  if ((fds[2].revents & POLLERR) != 0) FramePort::clear_error(fds[2].fd);
  lock_.lock();
  lane_->end_wait();
  now = clock_.now();
  drive_rounds(cq, now);
  finish(now);
  last_empty_poll_ = now;
  unlock();
  return true;
}

}  // namespace urxe
