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
  std::string left_out;  ///< the loopback interface, if it would be a device without the others
  RealDevices real;
};

/// Chooses the devices by the interfaces of this network namespace and the `--device` arguments.
/// The error is a sentence for the user. For tests, the environment variable URXE_REAL_ROOT names a
/// directory in which the machine's real devices are looked for, instead of in /sys and /dev.
Expected<Presentation, std::string> make_presentation(
    const std::vector<std::string>& device_arguments);

/// The same with ports of DPDK in place of interfaces, found with the --dpdk-args.
Expected<Presentation, std::string> make_dpdk_presentation(
    const std::vector<std::string>& device_arguments, const std::string& dpdk_arguments);

/// The directory of the preloaded object and the provider: where they are installed if this program
/// is, else ../lib beside it. The error is a line for the user.
Expected<std::string, std::string> library_directory();

}  // namespace urxe
