// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "packet/base/expected.h"
#include "provider/devices/device_file.h"
#include "provider/devices/gid_source.h"

namespace urxe {

/// `--device NAME=IFACE`.
struct DeviceRequest {
  std::string name;
  std::string ifname;
};

/// Splits "NAME=IFACE" and checks NAME. The error is a sentence for the user.
Expected<DeviceRequest, std::string> parse_device_request(std::string_view text);

/// "urxe_<interface>", with '_' for characters that sysfs or applications do not expect.
std::string default_device_name(std::string_view ifname);

/// The devices to present, without their uverbs numbers: with no requests one for each interface
/// that is up and has an address; otherwise those asked for. `taken` are names of real devices. The
/// error is a sentence for the user.
Expected<std::vector<DeviceDescription>, std::string> choose_devices(
    const std::vector<Interface>& interfaces, const std::vector<DeviceRequest>& requests,
    const std::set<std::string>& taken);

/// The device `was` after its interface has become `now`, or is gone (null). It keeps its name, its
/// numbers and the indexes of the GIDs that remain.
DeviceDescription follow_interface(const DeviceDescription& was, const Interface* now);

}  // namespace urxe
