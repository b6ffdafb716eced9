// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/runtime_device.h"

#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <utility>

#include "packet/engine/capture.h"
#include "packet/engine/dpdk/plugin_loader.h"
#include "packet/engine/fault.h"
#include "packet/engine/raw/packet_socket.h"
#include "packet/engine/raw/raw.h"
#include "packet/engine/shm/shm.h"
#include "packet/engine/udp/udp.h"
#include "packet/host/clock.h"
#include "packet/host/random.h"
#include "packet/wire/qpn_layout.h"
#include "provider/devices/device_tree.h"
#include "provider/devices/path_mtu.h"
#include "provider/runtime/device/config.h"
#include "provider/runtime/device/failed_sends.h"
#include "provider/runtime/errors.h"
#include "provider/runtime/memory/guarded_access.h"
#include "provider/runtime/memory/unmap_watch.h"

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

void print_line(const char* line) {
  print_error(line);
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
      counter_file_(open_counter_file(device_tree(), description.name)),
      stat_file_(stat_wanted() ? make_stat_file() : StatFile()),
      device_(config_for(description)),
      xrc_domains_(description.name),
      progress_(device_, *this),
      follower_{name_, [this](const DeviceDescription& now) { follow(now); }} {
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
  if (stat_file_.fd) unlink(stat_file_.path.c_str());
}

DeviceDescription RuntimeDevice::description() {
  Progress::Guard guard(progress_);
  return description_;
}

void RuntimeDevice::follow(const DeviceDescription& now) {
  Progress::Guard guard(progress_);
  follow_locked(now);
}

void RuntimeDevice::follow_locked(const DeviceDescription& found) {
  DeviceDescription now = found;
  now.mtu = std::min(now.mtu, largest_packet_);
  const DeviceDescription was = std::exchange(description_, now);
  if (now == was) return;
  device_.set_active_mtu(path_mtu_for(now.mtu));
  device_.set_interface_mtu(now.mtu);
  if (was.link_up && !now.link_up && !now.gone) tell(IBV_EVENT_PORT_ERR);
  if (now.gids != was.gids) {
    device_.set_gids(now.gids);
    if (opens_addresses_) (void)open_addresses();
    tell(IBV_EVENT_GID_CHANGE);
  }
  if (!was.link_up && now.link_up) tell(IBV_EVENT_PORT_ACTIVE);
  if (!was.gone && now.gone) {
    // Those that only wait for messages, or for their completions, would do so for ever.
    device_.fail_queue_pairs(clock_now());
    tell(IBV_EVENT_DEVICE_FATAL);
  }
  if (communication_sink().interface_changed != nullptr) {
    communication_sink().interface_changed(*this);
  }
}

void RuntimeDevice::tell(ibv_event_type type) {
  for (const OpenContext& one : contexts_) {
    one.events->send(event_sink().port_event(type));
    if (one.events->has_waiting()) progress_.flush_later(one.events);
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
  progress_.reports().tell_contexts({numbers.data(), told}, contexts_.size());
}

Expected<void, Errno> RuntimeDevice::start() {
  if (progress_.engine() != nullptr) return {};
  if (!slot_) {
    auto slot = Slot::acquire();
    if (!slot) return Unexpected<Errno>(report(slot.error()));
    slot_.emplace(*std::move(slot));
  }
  sharing_.emplace(*slot_, ifindex_);
  if (auto alone = slot_->directory().check_alone(); !alone) {
    return Unexpected<Errno>(report(alone.error()));
  }
  auto engine = make_engine();
  if (!engine) return Unexpected<Errno>(engine.error());
  keep_within((*engine)->promises());
  configure_cm();
  const EngineKind kind = engine_for(engine_choice().value_or(EngineChoice::kAuto), ifindex_);
  auto started = progress_.start(
      *std::move(engine), {CounterTable(counter_file_, slot_->number()),
                           StatWriter(std::move(stat_file_), name_, engine_name(kind), clock_now()),
                           name_, explain_wanted()});
  if (started) counter_file_.reset();
  if (started) tell_contexts();
  if (!started) report_lack(("start " + name_).c_str(), started.error().value);
  return started;
}

/// What the device sends is what the engine promises to carry.
void RuntimeDevice::keep_within(const EnginePromises& promises) {
  largest_packet_ = promises.largest_packet;
  follow_locked(description_);
  if (promises.lossless || promises.receive_buffer == 0) return;
  device_.set_receive_buffer(promises.receive_buffer);
}

/// The engine that carries packets, without those that wrap it.
Expected<std::unique_ptr<PacketEngine>, Errno> RuntimeDevice::make_carrier() {
  const auto& choice = engine_choice();
  if (!choice) return Unexpected<Errno>(report({EINVAL, "URXE_ENGINE: " + choice.error()}));
  if (*choice == EngineChoice::kDpdk) return make_dpdk_engine();
  UdpConfig config;
  config.interface_index = ifindex_;
  config.sharing = &*sharing_;
  if (engine_for(*choice, ifindex_) == EngineKind::kUdp) return std::make_unique<UdpEngine>(config);
  auto raw = RawEngine::open({.udp = config});
  if (!raw) return Unexpected<Errno>(report(raw.error()));
  return *std::move(raw);
}

Expected<std::unique_ptr<PacketEngine>, Errno> RuntimeDevice::make_dpdk_engine() {
  if (description_.port.empty()) {
    return Unexpected<Errno>(report(
        {ENODEV, name_ + " is no port of DPDK: start the program with `urxe run --engine dpdk`"}));
  }
  DpdkConfig config{.arguments = dpdk_arguments(),
                    .port = description_.port,
                    .link_changed = {},
                    .log = print_line,
                    .watch_unmapping = watch_unmapping,
                    .watch_failed_sends = watch_failed_sends};
  // The kernel tells of an interface that it has.
  if (description_.is_fixed()) {
    config.link_changed = [name = name_](bool is_up) {
      InterfaceWatcher::instance().set_link(name, is_up);
    };
  }
  auto engine = open_dpdk_engine(own_directory(), std::move(config));
  if (!engine) return Unexpected<Errno>(report(engine.error()));
  return *std::move(engine);
}

Expected<std::unique_ptr<PacketEngine>, Errno> RuntimeDevice::make_engine() {
  const auto& faults = fault_plans();
  if (!faults) return Unexpected<Errno>(report({EINVAL, "URXE_FAULTS: " + faults.error()}));
  auto carrier = make_carrier();
  if (!carrier) return carrier;
  std::unique_ptr<PacketEngine> engine = *std::move(carrier);
  // Memory finds its peers by addresses of the kernel's, and a port of DPDK is not shared.
  const bool is_shared = engine_choice().value_or(EngineChoice::kAuto) != EngineChoice::kDpdk;
  if (shm_wanted() && is_shared) {
    engine = std::make_unique<ShmEngine>(std::move(engine),
                                         ShmConfig{.slot = &*slot_, .interface_index = ifindex_});
  }
  if (!capture_path().empty()) {
    auto tap = CaptureEngine::open(std::move(engine), capture_path());
    if (!tap) return Unexpected<Errno>(report(tap.error()));
    engine = *std::move(tap);
  }
  // Outside the tap: a capture shows what went over the wire.
  if (const FaultPlan* const plan = faults->of(description_.ifname)) {
    engine = std::make_unique<FaultEngine>(std::move(engine), *plan);
  }
  return engine;
}

Expected<void, Errno> RuntimeDevice::start_raw_packets() {
  if (!is_ethernet_) return Unexpected<Errno>(Errno{EOPNOTSUPP});
  return progress_.open_frames(ifindex_);
}

Qpn RuntimeDevice::next_qpn() {
  return slot_->next_qpn();
}

bool RuntimeDevice::is_own(Qpn qpn) const {
  return slot_of(qpn) == slot_->number();
}

void RuntimeDevice::refresh_gids() {
  if (auto now = read_device(device_tree(), name_)) follow_locked(*now);
}

Expected<void, Errno> RuntimeDevice::open_address(const Gid& local) {
  auto opened = open_in_engine(local);
  if (!opened) return Unexpected<Errno>(report(opened.error()));
  return {};
}

Expected<void, Errno> RuntimeDevice::open_addresses() {
  opens_addresses_ = true;
  std::optional<EngineError> first;
  bool any = false;
  for (const Gid& gid : device_.config().gids) {
    if (gid.is_zero()) continue;
    auto opened = open_in_engine(gid);
    any = any || opened;
    if (!opened && !first) first = std::move(opened.error());
  }
  if (!any && first) return Unexpected<Errno>(report(*first));
  return {};
}

void RuntimeDevice::after_fork_in_child() {
  memory_user_.forget_visitors();
  forked_.store(true);
  stat_file_.fd.reset();
  progress_.after_fork_in_child();
  sharing_.reset();
  slot_.reset();
  xrc_domains_.after_fork_in_child();
}

}  // namespace urxe
