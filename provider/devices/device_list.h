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

/// `--device [NAME=]IFACE`.
struct DeviceRequest {
  std::string name;
  std::string ifname;
};

/// Splits "NAME=IFACE" and checks NAME; "IFACE" alone has its default name. The error is a sentence
/// for the user.
Expected<DeviceRequest, std::string> parse_device_request(std::string_view text);

/// "urxe_<interface>", with '_' for characters that sysfs or applications do not expect.
std::string default_device_name(std::string_view ifname);

/// Whether an interface can be a device: it is up and has an address.
bool is_presentable(const Interface& interface);

/// The devices to present, without their uverbs numbers: with no requests one for each interface
/// that is up and has an address, but not the ports of bridges and bonds, which receive nothing for
/// their addresses, nor the loopback interface if another one has a link; otherwise those asked
/// for. `taken` are names of real devices. The error is a sentence for the user.
Expected<std::vector<DeviceDescription>, std::string> choose_devices(
    const std::vector<Interface>& interfaces, const std::vector<DeviceRequest>& requests,
    const std::set<std::string>& taken);

/// A port of DPDK, as it will be with what the user says of it.
struct DpdkPort {
  std::string name;
  uint32_t interface_index = 0;  ///< that the kernel keeps for it; 0: none
  uint32_t mtu = 0;
  uint32_t speed_mbps = 0;           ///< 0: unknown
  std::vector<IpNetwork> addresses;  ///< empty: those of the interface
  std::vector<Gid> gateways;
};

/// The same for ports instead of interfaces, which the requests then name: "urxe_memif0" is
/// net_memif0. `identity` is a text that is the same whenever the ports are, and only then.
Expected<std::vector<DeviceDescription>, std::string> choose_dpdk_devices(
    const std::vector<DpdkPort>& ports, const std::vector<Interface>& interfaces,
    const std::vector<DeviceRequest>& requests, const std::set<std::string>& taken,
    std::string_view identity);

/// The device `was` after its interface has become `now`, or is gone (null). It keeps its name, its
/// numbers and the indexes of the GIDs that remain.
DeviceDescription follow_interface(const DeviceDescription& was, const Interface* now);

}  // namespace urxe
