// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/device/runtime_device.h"

#include <sched.h>

#include <cerrno>
#include <utility>

#include "packet/engine/capture.h"
#include "packet/engine/fault.h"
#include "packet/engine/raw/raw.h"
#include "packet/engine/shm/shm.h"
#include "packet/engine/udp/udp.h"
#include "packet/host/random.h"
#include "packet/wire/qpn_layout.h"
#include "provider/devices/device_tree.h"
#include "provider/runtime/device/config.h"
#include "provider/runtime/errors.h"
#include "provider/runtime/memory/guarded_access.h"

namespace urxe {
namespace {

/// IP, UDP and the longest RoCE headers with ICRC, rounded up.
constexpr uint32_t kHeaderRoom = 80;

/// A shorter local ACK timeout would expire when a process is not scheduled in time.
constexpr Duration kMinAckTimeout = milliseconds(4);

DeviceConfig config_for(const DeviceDescription& description) {
  DeviceConfig config;
  config.gids = description.gids;
  config.active_mtu = path_mtu_for(description.mtu);
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

ibv_mtu path_mtu_for(uint32_t interface_mtu) {
  for (int mtu = IBV_MTU_4096; mtu > IBV_MTU_256; --mtu) {
    if ((128U << mtu) + kHeaderRoom <= interface_mtu) return static_cast<ibv_mtu>(mtu);
  }
  return IBV_MTU_256;
}

RuntimeDevice::RuntimeDevice(const DeviceDescription& description)
    : name_(description.name),
      ifindex_(description.ifindex),
      description_(description),
      device_(config_for(description)),
      xrc_domains_(description.name),
      progress_(device_, *this),
      follower_{name_, [this](const DeviceDescription& now) { follow(now); }} {
  const std::string reason = InterfaceWatcher::instance().add(follower_);
  if (reason.empty()) return;
  print_error("cannot watch the network interfaces, so port states and GIDs stay as they are: " +
              reason);
}

RuntimeDevice::~RuntimeDevice() {
  memory_user_.wait_for_visitors();
  InterfaceWatcher::instance().remove(follower_);
}

DeviceDescription RuntimeDevice::description() {
  Progress::Guard guard(progress_);
  return description_;
}

void RuntimeDevice::follow(const DeviceDescription& now) {
  Progress::Guard guard(progress_);
  follow_locked(now);
}

void RuntimeDevice::follow_locked(const DeviceDescription& now) {
  const DeviceDescription was = std::exchange(description_, now);
  if (now == was) return;
  device_.set_active_mtu(path_mtu_for(now.mtu));
  if (was.link_up && !now.link_up && !now.gone) tell(IBV_EVENT_PORT_ERR);
  if (now.gids != was.gids) {
    device_.set_gids(now.gids);
    if (opens_addresses_) (void)open_addresses();
    tell(IBV_EVENT_GID_CHANGE);
  }
  if (!was.link_up && now.link_up) tell(IBV_EVENT_PORT_ACTIVE);
  if (!was.gone && now.gone) tell(IBV_EVENT_DEVICE_FATAL);
  if (communication_sink().interface_changed != nullptr) {
    communication_sink().interface_changed(*this);
  }
}

void RuntimeDevice::tell(ibv_event_type type) {
  for (const auto& listener : listeners_) {
    listener->send(event_sink().port_event(type));
    if (listener->has_waiting()) progress_.flush_later(listener);
  }
}

void RuntimeDevice::add_listener(std::shared_ptr<EventSocket> events) {
  listeners_.push_back(std::move(events));
}

void RuntimeDevice::remove_listener(const std::shared_ptr<EventSocket>& events) {
  std::erase(listeners_, events);
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
  if (const size_t bytes = (*engine)->receive_buffer(); bytes != 0) {
    device_.set_receive_buffer(bytes);
  }
  configure_cm();
  auto started =
      progress_.start(*std::move(engine), CounterTable(device_tree(), name_, slot_->number()));
  if (!started) report_lack(("start " + name_).c_str(), started.error().value);
  return started;
}

/// The engine that carries packets, without those that wrap it.
Expected<std::unique_ptr<PacketEngine>, Errno> RuntimeDevice::make_carrier() {
  const auto& choice = engine_choice();
  if (!choice) return Unexpected<Errno>(report({EINVAL, "URXE_ENGINE: " + choice.error()}));
  UdpConfig config;
  config.interface_index = ifindex_;
  config.sharing = &*sharing_;
  if (engine_for(*choice, ifindex_) == EngineKind::kUdp) return std::make_unique<UdpEngine>(config);
  auto raw = RawEngine::open({.udp = config});
  if (!raw) return Unexpected<Errno>(report(raw.error()));
  return *std::move(raw);
}

Expected<std::unique_ptr<PacketEngine>, Errno> RuntimeDevice::make_engine() {
  auto carrier = make_carrier();
  if (!carrier) return carrier;
  std::unique_ptr<PacketEngine> engine = *std::move(carrier);
  if (shm_wanted()) {
    engine = std::make_unique<ShmEngine>(std::move(engine),
                                         ShmConfig{.slot = &*slot_, .interface_index = ifindex_});
  }
  if (!capture_path().empty()) {
    auto tap = CaptureEngine::open(std::move(engine), capture_path());
    if (!tap) return Unexpected<Errno>(report(tap.error()));
    engine = *std::move(tap);
  }
  // Outside the tap: a capture shows what went over the wire.
  if (fault_plan()) engine = std::make_unique<FaultEngine>(std::move(engine), *fault_plan());
  return engine;
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
  progress_.after_fork_in_child();
  sharing_.reset();
  slot_.reset();
  xrc_domains_.after_fork_in_child();
}

}  // namespace urxe
