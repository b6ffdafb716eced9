// SPDX-License-Identifier: BSD-2-Clause
// The lanes of a device: their locks, and who gets which.
#include <sys/resource.h>
#include <unistd.h>

#include <new>

#include "packet/host/descriptor_room.h"
#include "provider/observation/process_state.h"
#include "provider/runtime/device/config.h"
#include "provider/runtime/device/runtime_device.h"

namespace urxe {
namespace {

/// More threads than this are forgotten, and begin anew.
constexpr size_t kMostThreads = 1024;

/// What the application may still need itself.
constexpr size_t kSpareDescriptors = 256;

bool is_limited(__rlimit_resource_t resource) {
  rlimit limit{};
  return getrlimit(resource, &limit) != 0 || limit.rlim_cur != RLIM_INFINITY;
}

/// A lane takes some 20 descriptors and some memory. The application must not lack them.
bool has_enough_for_a_lane() {
  if (is_limited(RLIMIT_AS) || is_limited(RLIMIT_DATA)) return false;
  return has_descriptors(kSpareDescriptors);
}

}  // namespace

/// Lanes are added with the first one's lock held.
void RuntimeDevice::lock_lanes() {
  for (uint32_t i = 0; i < lane_count(); ++i) lane(i).progress().lock();
}

void RuntimeDevice::unlock_lanes() {
  const uint32_t count = lane_count();
  std::array<Progress::Awaited, kMostLanes> awaited;
  for (uint32_t i = count; i-- > 0;) awaited[i] = lane(i).progress().settle_and_unlock();
  for (uint32_t i = 0; i < count; ++i) lane(i).progress().wait_for(awaited[i]);
}

Lane& RuntimeDevice::choose_lane() {
  const LaneChoice choice = lane_choice();
  if (choice.most == 1) return first_;
  if (choice.in_turn) return next_lane(choice.most);
  const auto known = lane_of_thread_.find(pthread_self());
  if (known != lane_of_thread_.end()) return lane(known->second);
  if (lane_of_thread_.size() >= kMostThreads) lane_of_thread_.clear();
  Lane& chosen = next_lane(choice.most);
  lane_of_thread_.emplace(pthread_self(), chosen.number());
  return chosen;
}

Lane& RuntimeDevice::next_lane(uint32_t most) {
  const uint32_t number = lanes_given_++ % most;
  if (number < lane_count()) return lane(number);
  Lane* const added = add_lane();
  return added != nullptr ? *added : first_;
}

/// Null: there is no slot to spare, or something else is lacking that the device can do without.
Lane* RuntimeDevice::add_lane() {
  // As another user, or in another network namespace, it could not share the first lane's
  // addresses.
  const bool is_at_home = started_by_ == geteuid() && started_in_ == own_network_namespace();
  if (!is_at_home || !has_enough_for_a_lane()) return nullptr;
  const uint32_t number = lane_count();
  std::unique_ptr<Lane>& place = further_[number - 1];
  try {
    place = std::make_unique<Lane>(first_, number, open_lane_files(name_));
    place->progress().lock();
    if (!place->start(description_)) {
      (void)place->progress().settle_and_unlock();
      place.reset();
      return nullptr;
    }
  } catch (const std::bad_alloc&) {
    place.reset();
    return nullptr;
  }
  memory_user_.add_lane(place->progress());
  lane_count_.store(number + 1, std::memory_order_release);
  return place.get();
}

void RuntimeDevice::finish_at_exit() {
  for_each_lane([](Lane& lane) { lane.progress().finish_at_exit(); });
}

void RuntimeDevice::before_fork() {
  for_each_lane([](Lane& lane) { lane.progress().before_fork(); });
}

/// The first lane comes last: a thread that has waited for its lock may add a lane, whose lock is
/// not this thread's.
void RuntimeDevice::after_fork_in_parent() {
  for (uint32_t i = lane_count(); i-- > 0;) lane(i).progress().after_fork_in_parent();
}

void RuntimeDevice::after_fork_in_child() {
  memory_user_.forget_visitors();
  forked_.store(true);
  for_each_lane([](Lane& lane) { lane.after_fork_in_child(); });
  xrc_domains_.after_fork_in_child();
}

}  // namespace urxe
