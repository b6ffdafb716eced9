// SPDX-License-Identifier: BSD-2-Clause
// The engine of a lane: what carries packets, and what wraps it.
#include <cerrno>
#include <cstring>
#include <utility>

#include "packet/engine/capture.h"
#include "packet/engine/dpdk/plugin_loader.h"
#include "packet/engine/fault.h"
#include "packet/engine/raw/raw.h"
#include "packet/engine/shm/shm.h"
#include "packet/engine/udp/udp.h"
#include "provider/devices/interface_watcher.h"
#include "provider/runtime/device/config.h"
#include "provider/runtime/device/failed_sends.h"
#include "provider/runtime/device/lane.h"
#include "provider/runtime/device/untouched_fork.h"
#include "provider/runtime/errors.h"
#include "provider/runtime/memory/unmap_watch.h"

namespace urxe {
namespace {

using Made = Expected<std::unique_ptr<PacketEngine>, EngineError>;

Made refused(EngineError why) {
  return Unexpected<EngineError>(std::move(why));
}

void print_line(const char* line) {
  print_error(line);
}

Made make_dpdk_engine(const DeviceDescription& device) {
  if (device.port.empty()) {
    return refused({ENODEV, device.name + " is no port of DPDK: start the program with "
                                          "`urxe run --engine dpdk`"});
  }
  DpdkConfig config{.arguments = dpdk_arguments(),
                    .port = device.port,
                    .link_changed = {},
                    .log = print_line,
                    .watch_unmapping = watch_unmapping,
                    .watch_failed_sends = watch_failed_sends};
  // The kernel tells of an interface that it has.
  if (device.is_fixed()) {
    InterfaceWatcher::instance().expect_link(device.name);
    config.link_changed = [name = device.name](bool is_up) {
      InterfaceWatcher::instance().set_link(name, is_up);
    };
  }
  keep_fork_untouched();
  return open_dpdk_engine(own_directory(), std::move(config));
}

}  // namespace

/// The engine that carries packets, without those that wrap it.
Made Lane::make_carrier(const DeviceDescription& of) {
  const auto& choice = engine_choice();
  if (!choice) return refused({EINVAL, "URXE_ENGINE: " + choice.error()});
  if (*choice == EngineChoice::kDpdk) return make_dpdk_engine(of);
  UdpConfig config;
  config.interface_index = of.ifindex;
  config.sharing = &*sharing_;
  const auto kind = find_engine(*choice, of.ifindex);
  if (!kind) {
    return refused({kind.error().value, "cannot ask the kernel what the interface of " + of.name +
                                            " is: " + std::strerror(kind.error().value)});
  }
  if (*kind == EngineKind::kUdp) return std::make_unique<UdpEngine>(config);
  return RawEngine::open({.udp = config});
}

Made Lane::make_engine(const DeviceDescription& of) {
  const auto& faults = fault_plans();
  if (!faults) return refused({EINVAL, "URXE_FAULTS: " + faults.error()});
  auto carrier = make_carrier(of);
  if (!carrier) return carrier;
  std::unique_ptr<PacketEngine> engine = *std::move(carrier);
  if (shm_wanted() && shares_ports()) {
    engine = std::make_unique<ShmEngine>(std::move(engine),
                                         ShmConfig{.slot = &*slot_, .interface_index = of.ifindex});
  }
  if (!capture_path().empty()) {
    auto tap = CaptureEngine::open(std::move(engine), capture_path());
    if (!tap) return refused(std::move(tap.error()));
    engine = *std::move(tap);
  }
  // Outside the tap: a capture shows what went over the wire.
  if (const FaultPlan* const plan = faults->of(of.ifname)) {
    engine = std::make_unique<FaultEngine>(std::move(engine), *plan);
  }
  return engine;
}

}  // namespace urxe
