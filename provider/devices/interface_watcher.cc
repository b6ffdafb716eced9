// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/interface_watcher.h"

#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "packet/host/patient_poll.h"
#include "packet/host/start_thread.h"
#include "packet/host/uncancelled.h"
#include "provider/devices/device_tree.h"
#include "provider/devices/tree_update.h"

namespace urxe {
namespace {

/// Changes that follow so soon after another are handled together.
constexpr int kBurstMs = 20;
/// Pause before another try if the interfaces could not be listed, or the tree not written.
constexpr int kRetryMs = 500;

Unexpected<EngineError> failed(int errno_value) {
  return Unexpected<EngineError>({errno_value, std::strerror(errno_value)});
}

}  // namespace

// Never destroyed: its thread and exit handlers outlive static objects.
InterfaceWatcher& InterfaceWatcher::instance() {
  static auto* const watcher = new InterfaceWatcher;
  return *watcher;
}

Expected<void, EngineError> InterfaceWatcher::add(const Follower& follower) {
  std::lock_guard lifecycle(lifecycle_);
  {
    std::lock_guard lock(mutex_);
    followers_.push_back(&follower);
  }
  if (running_) {
    // What changed since the follower read its state may have been told to the others already.
    wake();
    return {};
  }
  auto started = try_to_start(follower);
  if (running_) return {};
  release();
  return std::exchange(complained_, true) ? Expected<void, EngineError>() : started;
}

/// If memory runs out, the caller destroys the follower, so it must not stay in the list.
Expected<void, EngineError> InterfaceWatcher::try_to_start(const Follower& follower) try {
  return start();
} catch (const std::bad_alloc&) {
  release();
  std::lock_guard lock(mutex_);
  std::erase(followers_, &follower);
  throw;
}

void InterfaceWatcher::remove(const Follower& follower) {
  std::lock_guard lifecycle(lifecycle_);
  bool last = false;
  {
    std::lock_guard lock(mutex_);
    std::erase(followers_, &follower);
    last = followers_.empty();
  }
  if (last && running_) stop();
}

Expected<void, EngineError> InterfaceWatcher::start() {
  errno = 0;
  const auto is_ours = is_of_this_namespace(device_tree());
  if (!is_ours) return Unexpected<EngineError>({errno, is_ours.error()});
  if (!*is_ours) {
    return Unexpected<EngineError>({0, "the devices are those of another network namespace"});
  }
  tree_use_ = hold_tree(device_tree());
  wake_fd_ = FileDescriptor(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  // The kernel's reports are subscribed to before the first look, so no change is missed.
  if (!wake_fd_ || !changes_.open()) return failed(errno);
  if (!update()) wake();
  stop_.store(false);
  const int wrong = start_thread(&thread_, thread_main, this);
  running_ = wrong == 0;
  allow_wake(running_);
  return running_ ? Expected<void, EngineError>() : failed(wrong);
}

void InterfaceWatcher::stop() {
  stop_.store(true);
  wake();
  pthread_join(thread_, nullptr);
  running_ = false;
  release();
}

/// Makes the thread look at the interfaces, or stop.
void InterfaceWatcher::wake() {
  uncancelled::ring_bell(wake_fd_.get());
}

bool InterfaceWatcher::take_wake() {
  uint64_t count = 0;
  return read(wake_fd_.get(), &count, sizeof count) > 0;
}

void InterfaceWatcher::expect_link(const std::string& device) {
  std::lock_guard lock(links_.mutex);
  links_.up.try_emplace(device);
}

void InterfaceWatcher::set_link(const std::string& device, bool is_up) noexcept {
  std::lock_guard lock(links_.mutex);
  const auto expected = links_.up.find(device);
  if (expected == links_.up.end()) return;
  expected->second = is_up;
  if (links_.can_wake) wake();
}

void InterfaceWatcher::allow_wake(bool allowed) {
  std::lock_guard lock(links_.mutex);
  links_.can_wake = allowed;
  if (allowed) return;
  for (auto& [device, is_up] : links_.up) is_up.reset();
}

void InterfaceWatcher::release() {
  allow_wake(false);
  wake_fd_.reset();
  changes_.close();
  tree_use_.reset();
}

void* InterfaceWatcher::thread_main(void* self) {
  pthread_setname_np(pthread_self(), "urxe-watch");
  static_cast<InterfaceWatcher*>(self)->run();
  return nullptr;
}

void InterfaceWatcher::run() {
  int retry_ms = -1;
  while (!stop_.load()) {
    pollfd fds[2] = {{wake_fd_.get(), POLLIN, 0}, {changes_.fd(), POLLIN, 0}};
    const timespec retry{retry_ms / 1000, long{retry_ms % 1000} * 1'000'000};
    const int ready = patient_poll(fds, retry_ms < 0 ? nullptr : &retry);
    if (stop_.load()) return;
    if (ready < 0) continue;
    const bool asked = take_wake();
    const bool changed = changes_.take(ifindexes_);
    if (!asked && !changed && retry_ms < 0) continue;
    retry_ms = update() ? -1 : kRetryMs;
    const timespec burst{0, long{kBurstMs} * 1'000'000};
    patient_poll({fds, 1}, &burst);
  }
}

/// False: the interfaces could not be listed, or the tree not written; try again later.
bool InterfaceWatcher::update() try {
  std::lock_guard lock(mutex_);
  std::map<std::string, bool> links;
  {
    std::lock_guard links_lock(links_.mutex);
    for (const auto& [device, is_up] : links_.up) {
      if (is_up) links.emplace(device, *is_up);
    }
  }
  auto now = update_tree(device_tree(), links);
  if (!now) return false;
  is_ahead_.store(now->is_ahead);
  ifindexes_.clear();
  for (const DeviceDescription& description : now->devices) {
    ifindexes_.push_back(description.ifindex);
    for (const Follower* follower : followers_) {
      if (follower->name == description.name) follower->follow(description);
    }
  }
  return !now->was_locked_out && !now->may_be_written_later;
} catch (const std::bad_alloc&) {
  return false;
}

void InterfaceWatcher::before_fork() {
  lifecycle_.lock();
  mutex_.lock();
}

void InterfaceWatcher::after_fork_in_parent() {
  mutex_.unlock();
  lifecycle_.unlock();
}

void InterfaceWatcher::after_fork_in_child() {
  // Not destroyed: a thread of the parent may have held its lock, or have been changing it.
  std::construct_at(&links_);
  followers_.clear();
  running_ = false;
  is_ahead_.store(false);
  release();
  mutex_.unlock();
  lifecycle_.unlock();
}

}  // namespace urxe
