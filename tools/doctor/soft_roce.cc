// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/soft_roce.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>

namespace urxe::doctor {
namespace {

constexpr const char* kSoftRoceCheck = "soft-roce";

}  // namespace

std::vector<SoftRoceDevice> find_soft_roce(const std::string& root,
                                           const std::vector<std::string>& names) {
  std::vector<SoftRoceDevice> found;
  for (const std::string& name : names) {
    // Of the kernel's drivers only rxe has this attribute: the interface.
    std::ifstream parent(fmt::format("{}/sys/class/infiniband/{}/parent", root, name));
    std::string ifname;
    if (std::getline(parent, ifname)) found.push_back({name, ifname});
  }
  return found;
}

Findings judge_soft_roce(const std::vector<SoftRoceDevice>& found,
                         const std::vector<DeviceDescription>& devices, bool port_is_kernels) {
  Findings findings;
  for (const SoftRoceDevice& rxe : found) {
    const bool same = std::ranges::any_of(
        devices, [&](const auto& device) { return device.ifname == rxe.ifname; });
    const std::string what = "the kernel's soft-RoCE has " + rxe.name + " on " + rxe.ifname;
    const std::string advice = "rdma link delete " + rxe.name;
    if (port_is_kernels) {
      findings.push_back(
          problem(kSoftRoceCheck, what + ", and UDP port 4791 of all addresses", advice));
    } else if (same) {
      findings.push_back(note(kSoftRoceCheck,
                              what + ", which urxe presents, too; it does not have the port here",
                              advice));
    } else {
      findings.push_back(note(kSoftRoceCheck, what + ", perhaps in another network namespace"));
    }
  }
  if (findings.empty())
    findings.push_back(ok(kSoftRoceCheck, "the kernel has no soft-RoCE device"));
  return findings;
}

}  // namespace urxe::doctor
