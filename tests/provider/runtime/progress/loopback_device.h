// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <utility>

#include "provider/devices/device_file.h"

namespace urxe::test {

/// A device of `lo`, with no addresses.
inline DeviceDescription loopback_device(std::string name) {
  DeviceDescription device;
  device.name = std::move(name);
  device.ifname = "lo";
  device.ifindex = 1;
  device.mtu = 65536;
  return device;
}

}  // namespace urxe::test
