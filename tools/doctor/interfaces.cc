// SPDX-License-Identifier: BSD-2-Clause
#include "tools/doctor/interfaces.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "provider/devices/device_list.h"
#include "provider/devices/path_mtu.h"

namespace urxe::doctor {
namespace {

constexpr const char* kInterfaceCheck = "interface";
constexpr size_t kMostGidsShown = 8;

std::string list_gids(const std::vector<Gid>& gids) {
  std::string text;
  for (size_t i = 0; i < std::min(gids.size(), kMostGidsShown); ++i) {
    text += fmt::format("{} {} {}", i == 0 ? ", GID" : ",", i, gids[i].to_string());
  }
  if (gids.size() > kMostGidsShown) {
    text += fmt::format(" and {} more", gids.size() - kMostGidsShown);
  }
  return text;
}

Finding judge_device(const DeviceDescription& device) {
  const std::string what =
      fmt::format("{} is {}: MTU {}, path MTU {}{}", device.ifname, device.name, device.mtu,
                  path_mtu_bytes(path_mtu_for(device.mtu)), list_gids(device.gids));
  if (device.gids.empty()) {
    return problem(
        kInterfaceCheck, what + ", no GID",
        fmt::format("give it an address: ip address add ADDRESS/BITS dev {}", device.ifname));
  }
  const uint32_t needed = largest_packet_of(IBV_MTU_256);
  if (device.mtu < needed) {
    return problem(kInterfaceCheck,
                   fmt::format("{}: packets of the smallest path MTU take up to {} bytes, so only "
                               "short messages get out",
                               what, needed),
                   fmt::format("ip link set {} mtu 1500", device.ifname));
  }
  if (!device.link_up) {
    return note(
        kInterfaceCheck, what + "; the link is down",
        fmt::format("look at the cable, or at the other end: ip link show {}", device.ifname));
  }
  return ok(kInterfaceCheck, what);
}

bool is_presented(const Interface& interface, const std::vector<DeviceDescription>& devices) {
  return std::ranges::any_of(devices, [&](const DeviceDescription& device) {
    return device.ifindex == interface.ifindex;
  });
}

}  // namespace

Findings judge_interfaces(const std::vector<Interface>& interfaces,
                          const std::vector<DeviceDescription>& devices, bool wanted) {
  Findings findings;
  for (const DeviceDescription& device : devices) findings.push_back(judge_device(device));
  if (devices.empty()) {
    findings.push_back(problem(kInterfaceCheck,
                               "no interface is up and has an address, so there is no device",
                               "ip link set lo up, or bring a network interface up"));
  }
  if (wanted) return findings;
  for (const Interface& interface : interfaces) {
    if (is_presented(interface, devices)) continue;
    if (interface.is_loopback && is_presentable(interface)) {
      findings.push_back(ok(kInterfaceCheck, interface.name +
                                                 " leads to no other host, so it is no device "
                                                 "beside the others unless --device asks for it"));
      continue;
    }
    if (interface.is_port && is_presentable(interface)) {
      findings.push_back(ok(kInterfaceCheck, interface.name +
                                                 " is a port of a bridge or bond, so it is no "
                                                 "device unless --device asks for it"));
      continue;
    }
    // The loopback interface gets its addresses when it comes up.
    if (!interface.up && (!interface.gids.empty() || interface.name == "lo")) {
      findings.push_back(note(kInterfaceCheck, interface.name + " is down, so it is no device",
                              fmt::format("ip link set {} up", interface.name)));
    } else if (interface.up && interface.gids.empty()) {
      findings.push_back(note(
          kInterfaceCheck,
          interface.name + " has no address that can be used yet, so it is no device",
          fmt::format("ip address add ADDRESS/BITS dev {}, or wait for IPv6's duplicate address "
                      "detection",
                      interface.name)));
    }
  }
  return findings;
}

}  // namespace urxe::doctor
