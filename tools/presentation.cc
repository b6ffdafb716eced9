// SPDX-License-Identifier: BSD-2-Clause
#include "tools/presentation.h"

#include <cstdlib>
#include <set>

#include "provider/devices/device_list.h"
#include "provider/devices/gid_source.h"
#include "provider/devices/sysfs_tree.h"

namespace urxe {

Expected<Presentation, std::string> make_presentation(
    const std::vector<std::string>& device_arguments) {
  std::vector<DeviceRequest> requests;
  for (const std::string& argument : device_arguments) {
    auto request = parse_device_request(argument);
    if (!request) return Unexpected<std::string>("--device: " + request.error());
    requests.push_back(*request);
  }
  auto interfaces = list_interfaces();
  if (!interfaces) return Unexpected<std::string>(interfaces.error());

  Presentation presentation;
  const char* root = std::getenv("URXE_REAL_ROOT");
  presentation.real = find_real_devices(root != nullptr ? root : "");
  const auto& names = presentation.real.devices;
  auto devices =
      choose_devices(*interfaces, requests, std::set<std::string>(names.begin(), names.end()));
  if (!devices) return Unexpected<std::string>("--device: " + devices.error());
  presentation.devices = std::move(*devices);
  assign_uverbs_numbers(presentation.devices, presentation.real);
  return presentation;
}

}  // namespace urxe
