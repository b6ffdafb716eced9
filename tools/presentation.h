// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "provider/devices/device_file.h"
#include "provider/devices/real_devices.h"

namespace urxe {

/// The devices that a program sees.
struct Presentation {
  std::vector<DeviceDescription> devices;  ///< of urxe
  RealDevices real;
};

/// Chooses the devices by the interfaces of this network namespace and the `--device` arguments.
/// The error is a sentence for the user. For tests, the environment variable URXE_REAL_ROOT names a
/// directory in which the machine's real devices are looked for, instead of in /sys and /dev.
Expected<Presentation, std::string> make_presentation(
    const std::vector<std::string>& device_arguments);

}  // namespace urxe
