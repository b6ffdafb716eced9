// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/ids/watch.h"

#include <sys/epoll.h>
#include <sys/eventfd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <climits>

#include "packet/host/pause.h"
#include "packet/host/start_thread.h"

namespace urxe::cm {
namespace {

/// Devices that are marked at a time. A process has fewer.
constexpr size_t kMostMarked = 4096;

constexpr size_t kReadyAtOnce = 64;
/// After memory ran out: it may be there again soon.
constexpr timespec kPauseWithoutMemory{0, 10'000'000};

constexpr uint64_t pack(Watch::What what, uint32_t number) {
  return static_cast<uint64_t>(what) << 32 | number;
}

void take_wakes(int fd) {
  uint64_t count;
  (void)!read(fd, &count, sizeof count);
}

int timeout_ms(std::optional<Instant> until, Instant now) {
  if (!until) return -1;
  const int64_t ms = ((*until - now).ns + 999999) / 1000000;
  return static_cast<int>(std::clamp<int64_t>(ms, 0, INT_MAX));
}

}  // namespace

Expected<void, Errno> Watch::start(void* (*main)(void*), void* argument) {
  if (started_) return {};
  ready_.reserve(kReadyAtOnce);
  FileDescriptor epoll(epoll_create1(EPOLL_CLOEXEC));
  FileDescriptor wake(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!epoll || !wake) return error(errno);
  epoll_ = std::move(epoll);
  wake_ = std::move(wake);
  // mark() must not allocate: its callers cannot handle the failure.
  for (auto* marks : {&marked_, &taken_}) marks->reserve(kMostMarked);
  ready_.reserve(kReadyAtOnce);
  if (auto added = add(wake_.get(), EPOLLIN, What::kWake, 0); !added) return added;
  if (int failed = start_thread(&thread_, main, argument); failed != 0) return error(failed);
  pthread_detach(thread_);
  started_ = true;
  return {};
}

void Watch::wake() const {
  const uint64_t one = 1;
  if (wake_) (void)!write(wake_.get(), &one, sizeof one);
}

void Watch::mark(const RuntimeDevice* device) {
  {
    std::lock_guard lock(marks_mutex_);
    if (std::find(marked_.begin(), marked_.end(), device) != marked_.end()) return;
    if (marked_.size() < marked_.capacity()) marked_.push_back(device);
  }
  wake();
}

std::span<const RuntimeDevice* const> Watch::take_marked() {
  std::lock_guard lock(marks_mutex_);
  taken_.clear();
  taken_.swap(marked_);
  return taken_;
}

void Watch::try_again() {
  pause_for(kPauseWithoutMemory);
  {
    std::lock_guard lock(marks_mutex_);
    for (const RuntimeDevice* device : taken_) {
      const bool has_room = marked_.size() < marked_.capacity();
      if (has_room && std::ranges::find(marked_, device) == marked_.end()) {
        marked_.push_back(device);
      }
    }
  }
  wake();
}

Expected<void, Errno> Watch::add(int fd, uint32_t events, What what, uint32_t number) {
  epoll_event event{};
  event.events = events;
  event.data.u64 = pack(what, number);
  if (epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event) != 0) return error(errno);
  return {};
}

void Watch::remove(int fd) {
  epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr);
}

std::span<const Watch::Ready> Watch::wait(std::optional<Instant> until, Instant now) {
  std::array<epoll_event, kReadyAtOnce> events;
  const int count = epoll_wait(epoll_.get(), events.data(), kReadyAtOnce, timeout_ms(until, now));
  ready_.clear();
  for (int i = 0; i < count; ++i) {
    const uint64_t data = events[static_cast<size_t>(i)].data.u64;
    const Ready ready{static_cast<What>(data >> 32), static_cast<uint32_t>(data)};
    if (ready.what == What::kWake) take_wakes(wake_.get());
    ready_.push_back(ready);
  }
  return ready_;
}

void Watch::after_fork_in_child() {
  marked_.clear();
  epoll_.reset();
  wake_.reset();
  started_ = false;
}

}  // namespace urxe::cm
