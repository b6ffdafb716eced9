// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <vector>

#include "provider/devices/device_file.h"
#include "provider/devices/gid_source.h"
#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// A finding for each device that `urxe run` presents, and for each interface that has an address
/// and yet is no device. `wanted`: the user has chosen the devices, so the other interfaces do not
/// matter.
Findings judge_interfaces(const std::vector<Interface>& interfaces,
                          const std::vector<DeviceDescription>& devices, bool wanted);

}  // namespace urxe::doctor
