// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/dpdk/plugin/sleeper.h"

#include <sys/epoll.h>
#include <sys/timerfd.h>

#include <algorithm>
#include <cerrno>
#include <utility>

namespace urxe {
namespace {

constexpr Duration kShortest = microseconds(50);
constexpr Duration kLongest = milliseconds(1);
/// What has kept nobody waiting for long may come back soon: the timer adds this part to a wait.
constexpr int64_t kShare = 8;
/// With an interrupt the timer is only for what the engine does by itself: questions that have not
/// been answered, and the state of the link.
constexpr Duration kHousekeeping = milliseconds(100);

bool watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  return epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event) == 0;
}

}  // namespace

Expected<Sleeper, EngineError> Sleeper::open(int interrupt_fd) {
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  FileDescriptor timer(timerfd_create(CLOCK_MONOTONIC, TFD_NONBLOCK | TFD_CLOEXEC));
  if (!epoll || !timer || !watch(epoll.get(), timer.get()) ||
      (interrupt_fd >= 0 && !watch(epoll.get(), interrupt_fd))) {
    return Unexpected<EngineError>({errno, "no file descriptors for the DPDK engine's timer"});
  }
  return Sleeper(std::move(epoll), std::move(timer), interrupt_fd >= 0);
}

void Sleeper::set_timer(Duration interval) const {
  itimerspec when{};
  when.it_value.tv_nsec = static_cast<long>(interval.ns);
  timerfd_settime(timer_.get(), 0, &when, nullptr);
}

void Sleeper::begin(bool has_received, Instant now) {
  if (has_received) busy_until_ = now;
  const Duration waited = now - busy_until_;
  armed_ = true;
  set_timer(has_interrupt_ ? kHousekeeping
                           : std::clamp(Duration{waited.ns / kShare}, kShortest, kLongest));
}

void Sleeper::end() {
  if (!std::exchange(armed_, false)) return;
  set_timer({});
}

}  // namespace urxe
