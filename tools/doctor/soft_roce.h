// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

#include "provider/devices/device_file.h"
#include "tools/doctor/finding.h"

namespace urxe::doctor {

/// A device of the kernel's soft-RoCE.
struct SoftRoceDevice {
  std::string name;    ///< "rxe0"
  std::string ifname;  ///< "eth0"
};

/// Those that sysfs shows below `root`, which is put before /sys, among RDMA devices with these
/// names.
std::vector<SoftRoceDevice> find_soft_roce(const std::string& root,
                                           const std::vector<std::string>& names);

/// `port_is_kernels`: a socket without a process has UDP port 4791.
Findings judge_soft_roce(const std::vector<SoftRoceDevice>& found,
                         const std::vector<DeviceDescription>& devices, bool port_is_kernels);

}  // namespace urxe::doctor
