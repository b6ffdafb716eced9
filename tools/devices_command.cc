// SPDX-License-Identifier: BSD-2-Clause
#include "tools/devices_command.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <thread>
#include <vector>

#include "packet/engine/engine_choice.h"
#include "provider/devices/link_rate.h"
#include "provider/devices/network_namespace.h"
#include "provider/devices/sysfs_tree.h"
#include "provider/devices/tree_store.h"
#include "provider/devices/tree_update.h"
#include "tools/environment.h"
#include "tools/exit_status.h"
#include "tools/presentation.h"
#include "tools/sysfs_copy.h"

namespace urxe {
namespace {

constexpr double kLeastInterval = 0.1;   // seconds: processes publish every 10 ms
constexpr double kMostInterval = 86400;  // seconds

int refuse_devices(const std::string& reason) {
  fmt::print(stderr, "urxe devices: {}\n", reason);
  return kBadInput;
}

int fail_devices(const std::string& reason) {
  fmt::print(stderr, "urxe devices: {}\n", reason);
  return kOurFailure;
}

int copy_sysfs(const DevicesOptions& options) {
  if (options.interval &&
      !(*options.interval >= kLeastInterval && *options.interval <= kMostInterval)) {
    return refuse_devices(fmt::format("--interval {}: must be {} to {} seconds", *options.interval,
                                      kLeastInterval, kMostInterval));
  }
  RunOptions run;
  run.devices = options.devices;
  run.engine = options.engine;
  run.dpdk_arguments = options.dpdk_arguments;
  const auto tree = publish_devices(run);
  if (!tree) {
    fmt::print(stderr, "urxe devices: {}\n", tree.error().reason);
    return tree.error().status;
  }
  // Else another program may take it for one that nobody uses, and remove it.
  const FileDescriptor use = hold_tree(*tree);
  auto copy = SysfsCopy::begin(*tree, *options.sysfs);
  if (!copy) return refuse_devices(copy.error());
  for (;;) {
    if (const auto updated = copy->update(); !updated) return fail_devices(updated.error());
    if (!options.interval) return 0;
    std::this_thread::sleep_for(std::chrono::duration<double>(*options.interval));
    (void)update_tree(*tree);  // while no program has a device open, nobody else does
  }
}

void print_device(const DeviceDescription& device, std::string_view engine, size_t name_width) {
  const LinkRate* rate = find_link_rate(device.active_width, device.active_speed);
  fmt::print("{:<{}}  {:<15}  {:>5}  {:<6}  {:<6}  {:<20}", device.name, name_width, device.ifname,
             device.mtu, device.link_up ? "active" : "down", engine,
             rate != nullptr ? rate->text : "");
  for (size_t i = 0; i < device.gids.size(); ++i) {
    fmt::print(" {} {}={}", i == 0 ? "" : ",", i, device.gids[i].to_string());
  }
  fmt::print("\n");
}

/// Programs that run now may have other GID indexes than new ones would have, if addresses have
/// changed since they started: a new program joins them.
std::vector<DeviceDescription> as_running_programs_see(const Presentation& presentation) {
  const auto netns = current_network_namespace();
  if (!netns) return presentation.devices;
  const auto tree = find_tree_in(runtime_directory_places(), *netns,
                                 describe_tree(presentation.devices, presentation.real));
  if (!tree || !has_users(*tree)) return presentation.devices;
  const auto update = update_tree(*tree);
  if (!update) return presentation.devices;
  std::vector<DeviceDescription> devices = presentation.devices;
  for (DeviceDescription& device : devices) {
    const auto same = std::ranges::find(update->devices, device.name, &DeviceDescription::name);
    if (same != update->devices.end()) device = *same;
  }
  return devices;
}

}  // namespace

int devices_command(const DevicesOptions& options) {
  if (options.interval && !options.sysfs) return refuse_devices("--interval needs --sysfs");
  if (options.sysfs) return copy_sysfs(options);
  const auto choice = choose_engine(options.engine);
  if (!choice) return refuse_devices(choice.error());
  if (const auto right = check_dpdk_option(options.dpdk_arguments, *choice); !right) {
    return refuse_devices(right.error().reason);
  }
  const char* const variable = std::getenv("URXE_DPDK_ARGS");
  auto presentation =
      *choice == EngineChoice::kDpdk
          ? make_dpdk_presentation(options.devices, options.dpdk_arguments.value_or(
                                                        variable != nullptr ? variable : ""))
          : make_presentation(options.devices);
  if (!presentation) return refuse_devices(presentation.error());
  presentation->devices = as_running_programs_see(*presentation);
  size_t name_width = 6;
  for (const DeviceDescription& device : presentation->devices) {
    name_width = std::max(name_width, device.name.size());
  }
  fmt::print("{:<{}}  {:<15}  {:>5}  {:<6}  {:<6}  {:<20}  {}\n", "DEVICE", name_width, "INTERFACE",
             "MTU", "LINK", "ENGINE", "RATE", "GIDS");
  for (const DeviceDescription& device : presentation->devices) {
    const EngineKind engine = engine_for(*choice, device.ifindex);
    print_device(device, check_engine(engine) ? engine_name(engine) : "none", name_width);
  }
  for (const std::string& name : presentation->real.devices) {
    fmt::print("{:<{}}  (of the machine, also visible)\n", name, name_width);
  }
  if (!presentation->left_out.empty()) {
    fmt::print("({0} leads to no other host, so it is no device beside these: --device {0})\n",
               presentation->left_out);
  }
  if (const auto usable = check_engines(*choice, presentation->devices); !usable) {
    return refuse_devices(usable.error().reason);
  }
  return 0;
}

}  // namespace urxe
