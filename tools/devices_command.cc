// SPDX-License-Identifier: BSD-2-Clause
#include "tools/devices_command.h"

#include <fmt/format.h>

#include <algorithm>

#include "provider/devices/link_rate.h"
#include "tools/presentation.h"

namespace urxe {
namespace {

void print_device(const DeviceDescription& device, size_t name_width) {
  const LinkRate* rate = find_link_rate(device.active_width, device.active_speed);
  fmt::print("{:<{}}  {:<15}  {:>5}  {:<6}  {:<20}", device.name, name_width, device.ifname,
             device.mtu, device.link_up ? "active" : "down", rate != nullptr ? rate->text : "");
  for (size_t i = 0; i < device.gids.size(); ++i) {
    fmt::print(" {} {}={}", i == 0 ? "" : ",", i, device.gids[i].to_string());
  }
  fmt::print("\n");
}

}  // namespace

int devices_command(const std::vector<std::string>& device_arguments) {
  auto presentation = make_presentation(device_arguments);
  if (!presentation) {
    fmt::print(stderr, "urxe devices: {}\n", presentation.error());
    return 1;
  }
  size_t name_width = 6;
  for (const DeviceDescription& device : presentation->devices) {
    name_width = std::max(name_width, device.name.size());
  }
  fmt::print("{:<{}}  {:<15}  {:>5}  {:<6}  {:<20}  {}\n", "DEVICE", name_width, "INTERFACE", "MTU",
             "LINK", "RATE", "GIDS");
  for (const DeviceDescription& device : presentation->devices) print_device(device, name_width);
  for (const std::string& name : presentation->real.devices) {
    fmt::print("{:<{}}  (of the machine, also visible)\n", name, name_width);
  }
  return 0;
}

}  // namespace urxe
