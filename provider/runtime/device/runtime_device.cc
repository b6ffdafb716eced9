// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/runtime_device.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "packet/engine/engine_choice.h"
#include "packet/host/clock.h"
#include "packet/host/random.h"
#include "packet/wire/qpn_layout.h"
#include "provider/devices/device_tree.h"
#include "provider/devices/path_mtu.h"
#include "provider/observation/process_state.h"
#include "provider/runtime/errors.h"
#include "provider/runtime/memory/guarded_access.h"

namespace urxe {
namespace {

/// A shorter local ACK timeout would expire when a process is not scheduled in time.
constexpr Duration kMinAckTimeout = milliseconds(4);

DeviceConfig config_for(const DeviceDescription& description) {
  DeviceConfig config;
  config.gids = description.gids;
  config.active_mtu = path_mtu_for(description.mtu);
  config.interface_mtu = description.mtu;
  // A peer that knew it could guess the keys of other peers' memory.
  config.key_secret = random_secret();
  config.guarded_access = guarded_access();
  config.min_ack_timeout = kMinAckTimeout;
  return config;
}

Errno report(const EngineError& engine_error) {
  print_failure(engine_error.what, engine_error.errno_value);
  return Errno{engine_error.errno_value != 0 ? engine_error.errno_value : EIO};
}

}  // namespace

RuntimeDevice::RuntimeDevice(const DeviceDescription& description)
    : name_(description.name),
      ifindex_(description.ifindex),
      is_ethernet_(has_ethernet_frames(description.ifindex)),
      description_(description),
      first_(config_for(description), *this, open_lane_files(description.name)),
      xrc_domains_(description.name),
      follower_{name_, [this](const DeviceDescription& now) { follow(now); }} {
  memory_user_.add_lane(first_.progress());
  const auto watched = InterfaceWatcher::instance().add(follower_);
  if (watched) return;
  const int why = watched.error().errno_value;
  // Of descriptors there will be too few for all that follows, too. One line is enough for that.
  print_failure("cannot watch the network interfaces, so port states and GIDs stay as they are: " +
                    watched.error().what,
                why == EMFILE || why == ENFILE ? why : 0);
}

RuntimeDevice::~RuntimeDevice() {
  memory_user_.wait_for_visitors();
  InterfaceWatcher::instance().remove(follower_);
}

DeviceDescription RuntimeDevice::description() {
  Guard guard(*this);
  return description_;
}

void RuntimeDevice::follow(const DeviceDescription& now) {
  Guard guard(*this);
  follow_locked(now);
  // The kernel may only have confirmed an address (duplicate address detection).
  for_each_lane([](Lane& lane) { lane.open_missing(); });
}

void RuntimeDevice::follow_locked(const DeviceDescription& found) {
  DeviceDescription now = found;
  now.mtu = std::min(now.mtu, largest_packet_);
  const DeviceDescription was = std::exchange(description_, now);
  if (now == was) return;
  for_each_lane([&](Lane& lane) { lane.follow(now, now.gids != was.gids); });
  if (was.link_up && !now.link_up && !now.gone) tell(IBV_EVENT_PORT_ERR);
  if (now.gids != was.gids) tell(IBV_EVENT_GID_CHANGE);
  if (!was.link_up && now.link_up) tell(IBV_EVENT_PORT_ACTIVE);
  if (!was.gone && now.gone) {
    // Those that only wait for messages, or for their completions, would do so for ever.
    for_each_lane([](Lane& lane) { lane.device().fail_queue_pairs(clock_now()); });
    tell(IBV_EVENT_DEVICE_FATAL);
  }
  if (communication_sink().interface_changed != nullptr) {
    communication_sink().interface_changed(*this);
  }
  if (management_sink().interface_changed != nullptr) management_sink().interface_changed(*this);
}

void RuntimeDevice::tell(ibv_event_type type) {
  for (const OpenContext& one : contexts_) {
    one.events->send(event_sink().port_event(type));
    if (one.events->has_waiting()) progress().flush_later(one.events);
  }
}

uint32_t RuntimeDevice::add_context(std::shared_ptr<EventSocket> events) {
  contexts_.push_back({++last_context_, std::move(events)});
  tell_contexts();
  return last_context_;
}

void RuntimeDevice::remove_context(uint32_t number) {
  std::erase_if(contexts_, [number](const OpenContext& one) { return one.number == number; });
  tell_contexts();
}

void RuntimeDevice::tell_contexts() {
  std::array<uint32_t, kContextReports> numbers{};
  const size_t told = std::min(contexts_.size(), numbers.size());
  for (size_t i = 0; i < told; ++i) numbers[i] = contexts_[i].number;
  progress().reports().tell_contexts({numbers.data(), told}, contexts_.size());
}

Expected<void, Errno> RuntimeDevice::start() {
  if (first_.is_started()) return {};
  if (auto started = first_.start(description_); !started) {
    if (!started.error().what.empty()) return Unexpected<Errno>(report(started.error()));
    report_lack(("start " + name_).c_str(), started.error().errno_value);
    return error(started.error().errno_value);
  }
  started_by_ = geteuid();
  started_in_ = own_network_namespace();
  // What the device sends is what the engine promises to carry.
  largest_packet_ = progress().engine()->promises().largest_packet;
  follow_locked(description_);
  tell_contexts();
  return {};
}

Expected<void, Errno> RuntimeDevice::start_raw_packets() {
  if (!is_ethernet_) return Unexpected<Errno>(Errno{EOPNOTSUPP});
  return progress().open_frames(ifindex_);
}

bool RuntimeDevice::is_own(Qpn qpn) const {
  for (uint32_t i = 0; i < lane_count(); ++i) {
    const Lane& lane = i == 0 ? first_ : *further_[i - 1];
    if (slot_of(qpn) == lane.slot()) return true;
  }
  return false;
}

void RuntimeDevice::refresh_gids() {
  if (InterfaceWatcher::instance().is_ahead_of_tree()) return;
  if (auto now = read_device(device_tree(), name_)) follow_locked(*now);
}

Expected<void, Errno> RuntimeDevice::open_address(Lane& lane, const Gid& local) {
  auto opened = lane.open_address(local);
  if (!opened) return Unexpected<Errno>(report(opened.error()));
  return {};
}

void RuntimeDevice::report_unopened() {
  if (!first_.unopened() || std::exchange(said_unopened_, true)) return;
  (void)report(*first_.unopened());
}

Expected<void, Errno> RuntimeDevice::open_addresses(Lane& lane) {
  auto opened = lane.open_addresses();
  if (!opened) return Unexpected<Errno>(report(opened.error()));
  return {};
}

}  // namespace urxe
