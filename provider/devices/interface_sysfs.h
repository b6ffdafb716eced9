// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace urxe {

/// The location and speed of an interface's hardware, from the real sysfs.
struct InterfacePlace {
  std::optional<uint32_t> speed_mbps;  ///< of a physical link that knows its speed
  int numa_node = -1;                  ///< -1: none, as sysfs says it
  std::string local_cpus;              ///< mask: "00000000,0000000f"
  std::string local_cpulist;           ///< ranges: "0-3"
};

/// For a virtual interface, or one that the mounted sysfs does not show (another network
/// namespace's sysfs): no speed, no NUMA node, all CPUs.
InterfacePlace read_interface_place(const std::string& ifname, uint32_t ifindex);

/// A CPU list ("0-2,5") as a mask in sysfs's form ("27"; groups of 32 bits). Empty if malformed.
std::string cpu_mask_of_list(const std::string& cpulist);

}  // namespace urxe
