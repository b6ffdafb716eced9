// SPDX-License-Identifier: BSD-2-Clause
#include "tools/presentation.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <set>

#include "provider/devices/device_list.h"
#include "provider/devices/gid_source.h"
#include "provider/devices/sysfs_tree.h"
#include "tools/dpdk_ports.h"

namespace urxe {
namespace {

Expected<std::vector<DeviceRequest>, std::string> parse_requests(
    const std::vector<std::string>& device_arguments) {
  std::vector<DeviceRequest> requests;
  for (const std::string& argument : device_arguments) {
    auto request = parse_device_request(argument);
    if (!request) return Unexpected<std::string>("--device: " + request.error());
    requests.push_back(*request);
  }
  return requests;
}

std::string left_out(const std::vector<Interface>& interfaces,
                     const std::vector<DeviceDescription>& devices) {
  for (const Interface& interface : interfaces) {
    const bool is_device =
        std::ranges::find(devices, interface.ifindex, &DeviceDescription::ifindex) != devices.end();
    if (interface.is_loopback && is_presentable(interface) && !is_device) return interface.name;
  }
  return "";
}

/// Chooses the devices by `choose(interfaces, requests, names of real devices)`.
template <class Choose>
Expected<Presentation, std::string> present(const std::vector<std::string>& device_arguments,
                                            Choose choose) {
  auto requests = parse_requests(device_arguments);
  if (!requests) return Unexpected<std::string>(requests.error());
  auto interfaces = list_interfaces();
  if (!interfaces) return Unexpected<std::string>(interfaces.error());

  Presentation presentation;
  const char* root = std::getenv("URXE_REAL_ROOT");
  presentation.real = find_real_devices(root != nullptr ? root : "");
  const auto& names = presentation.real.devices;
  auto devices = choose(*interfaces, *requests, std::set<std::string>(names.begin(), names.end()));
  if (!devices) return Unexpected<std::string>(devices.error());
  presentation.devices = std::move(*devices);
  assign_uverbs_numbers(presentation.devices, presentation.real);
  return presentation;
}

}  // namespace

Expected<Presentation, std::string> make_presentation(
    const std::vector<std::string>& device_arguments) {
  std::vector<Interface> seen;
  auto presentation = present(
      device_arguments, [&](const auto& interfaces, const auto& requests, const auto& taken) {
        seen = interfaces;
        auto devices = choose_devices(interfaces, requests, taken);
        return devices ? devices : Unexpected<std::string>("--device: " + devices.error());
      });
  if (presentation && device_arguments.empty()) {
    presentation->left_out = left_out(seen, presentation->devices);
  }
  return presentation;
}

Expected<Presentation, std::string> make_dpdk_presentation(
    const std::vector<std::string>& device_arguments, const std::string& dpdk_arguments) {
  auto libraries = library_directory();
  if (!libraries) return Unexpected<std::string>(libraries.error());
  auto ports = find_dpdk_ports(*libraries, dpdk_arguments);
  if (!ports) return Unexpected<std::string>(ports.error());
  return present(device_arguments,
                 [&](const auto& interfaces, const auto& requests, const auto& taken) {
                   return choose_dpdk_devices(*ports, interfaces, requests, taken, dpdk_arguments);
                 });
}

Expected<std::string, std::string> library_directory() {
  std::error_code failed;
  const auto program = std::filesystem::canonical("/proc/self/exe", failed);
  if (failed) {
    return Unexpected<std::string>("/proc/self/exe: " + failed.message() +
                                   ": urxe needs /proc (mount -t proc proc /proc)");
  }
  const std::filesystem::path beside = program.parent_path();
  const auto installed = (beside / URXE_INSTALLED_LIBRARIES).lexically_normal();
  const auto built = beside.parent_path() / "lib";
  return (std::filesystem::is_directory(installed, failed) ? installed : built).string();
}

}  // namespace urxe
