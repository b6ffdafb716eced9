// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "provider/devices/device_file.h"
#include "provider/devices/real_devices.h"

namespace urxe {

/// The devices that a program is to see.
struct Presentation {
  std::vector<DeviceDescription> devices;  ///< ours
  RealDevices real;
};

/// From the interfaces of this network namespace and the `--device` arguments. The error is a
/// sentence for the user. Where the environment variable URXE_REAL_ROOT is set, the machine's real
/// devices are looked for below that directory instead of in /sys and /dev: for tests.
Expected<Presentation, std::string> make_presentation(
    const std::vector<std::string>& device_arguments);

}  // namespace urxe
