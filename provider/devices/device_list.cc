// SPDX-License-Identifier: BSD-2-Clause
#include "provider/devices/device_list.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cctype>
#include <fstream>

#include "packet/base/fnv.h"
#include "provider/devices/identity.h"
#include "provider/devices/interface_sysfs.h"
#include "provider/devices/link_rate.h"

namespace urxe {
namespace {

/// Far above the indexes that the kernel gives to interfaces.
constexpr uint32_t kFirstMadeUpIndex = 0x40000000;

/// libibverbs' IBV_SYSFS_NAME_MAX without the terminating zero.
constexpr size_t kLongestName = 63;

bool is_name_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '-' || c == '.';
}

bool is_device_name(std::string_view name) {
  return !name.empty() && name.size() <= kLongestName && name[0] != '.' &&
         !name.ends_with(kCountersSuffix) &&
         std::all_of(name.begin(), name.end(), is_name_character);
}

Unexpected<std::string> refuse(std::string why) {
  return Unexpected<std::string>(std::move(why));
}

std::string machine_id() {
  std::string id;
  if (std::ifstream("/etc/machine-id") >> id) return id;
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

/// An EUI-64 of urxe's vendor id and 40 bits of a hash. It differs from the GUID that the kernel's
/// drivers derive from the same interface.
uint64_t guid_of(uint64_t hash) {
  return kNodeGuidValue | (hash & ~kNodeGuidMask);
}

/// The same on every run of the machine.
uint64_t invented_guid(std::string_view device_name) {
  return guid_of(fnv1a(device_name, fnv1a(machine_id())));
}

uint64_t guid_of_mac(const std::array<uint8_t, 6>& mac) {
  return guid_of(fnv1a({reinterpret_cast<const char*>(mac.data()), mac.size()}));
}

/// Interfaces on top of another (VLANs) share its address, but devices must not share a GUID.
uint64_t unique_guid(const Interface& interface, const std::string& name,
                     const std::vector<DeviceDescription>& others) {
  if (!interface.mac) return invented_guid(name);
  uint64_t guid = guid_of_mac(*interface.mac);
  bool is_taken = std::any_of(others.begin(), others.end(),
                              [guid](const auto& other) { return other.node_guid == guid; });
  return is_taken ? invented_guid(name) : guid;
}

DeviceDescription describe(const Interface& interface, const std::string& name,
                           const std::vector<DeviceDescription>& others) {
  DeviceDescription device;
  device.name = name;
  device.ifindex = interface.ifindex;
  device.node_guid = unique_guid(interface, name, others);
  return follow_interface(device, &interface);
}

/// Programs that use every device at once, as UCX and MPI do, take it for granted that each leads
/// to the peer. The loopback interface does not lead to other hosts, and the others lead to this
/// one, too.
bool leads_to_other_hosts(const Interface& interface) {
  return is_presentable(interface) && !interface.is_port && interface.link_up &&
         !interface.is_loopback;
}

std::vector<DeviceDescription> all_devices(const std::vector<Interface>& interfaces,
                                           const std::set<std::string>& taken) {
  const bool has_network = std::ranges::any_of(interfaces, leads_to_other_hosts);
  std::vector<DeviceDescription> devices;
  std::set<std::string> used = taken;
  for (const Interface& interface : interfaces) {
    if (!is_presentable(interface) || interface.is_port) continue;
    if (interface.is_loopback && has_network) continue;
    std::string name = default_device_name(interface.name);
    if (used.contains(name)) name += fmt::format("_{}", interface.ifindex);
    used.insert(name);
    devices.push_back(describe(interface, name, devices));
  }
  return devices;
}

Expected<const Interface*, std::string> find_presentable(const std::vector<Interface>& interfaces,
                                                         const std::string& ifname) {
  auto found = std::find_if(interfaces.begin(), interfaces.end(),
                            [&](const Interface& interface) { return interface.name == ifname; });
  if (found == interfaces.end()) return refuse(fmt::format("there is no interface '{}'", ifname));
  if (!found->up) return refuse(fmt::format("interface '{}' is down", ifname));
  if (found->gids.empty()) return refuse(fmt::format("interface '{}' has no IP address", ifname));
  return &*found;
}

void set_rate(DeviceDescription& device, const Interface& interface) {
  std::optional<uint32_t> speed;
  if (!interface.is_virtual) {
    speed = read_interface_place(interface.name, interface.ifindex).speed_mbps;
  }
  const LinkRate& rate = closest_link_rate(speed);
  device.speed_mbps = rate.mbps;
  device.active_width = rate.width;
  device.active_speed = rate.speed;
}

DeviceDescription describe_port(const DpdkPort& port, const std::string& name,
                                const Interface* interface, size_t number,
                                std::string_view identity) {
  DeviceDescription device;
  device.name = name;
  device.port = port.name;
  if (port.addresses.empty()) {
    device.ifindex = interface->ifindex;
    device.node_guid = invented_guid(name + std::string(identity));
    if (port.mtu < interface->mtu) device.most_mtu = port.mtu;
    return follow_interface(device, interface);
  }
  device.ifname = port.name;
  device.ifindex = kFirstMadeUpIndex + static_cast<uint32_t>(number);
  device.node_guid = invented_guid(name + std::string(identity));
  device.mtu = port.mtu;
  device.networks = port.addresses;
  device.gateways = port.gateways;
  std::vector<InterfaceAddress> addresses;
  for (const IpNetwork& network : port.addresses) addresses.push_back({network.address, true});
  device.gids = order_gids(addresses);
  const LinkRate& rate =
      closest_link_rate(port.speed_mbps != 0 ? std::optional(port.speed_mbps) : std::nullopt);
  device.speed_mbps = rate.mbps;
  device.active_width = rate.width;
  device.active_speed = rate.speed;
  return device;
}

/// As for an interface, without the word for all network drivers: "urxe_memif0" for net_memif0.
std::string default_port_device_name(std::string_view port) {
  constexpr std::string_view kDriverPrefix = "net_";
  if (port.starts_with(kDriverPrefix)) port.remove_prefix(kDriverPrefix.size());
  return default_device_name(port);
}

/// The name for the port's device; empty: it is not asked for.
Expected<std::string, std::string> name_port(const DpdkPort& port,
                                             const std::vector<DeviceRequest>& requests,
                                             const std::set<std::string>& taken) {
  if (requests.empty()) {
    const std::string name = default_port_device_name(port.name);
    return taken.contains(name) ? name + "_dpdk" : name;
  }
  const auto found = std::ranges::find(requests, port.name, &DeviceRequest::ifname);
  if (found == requests.end()) return "";
  if (taken.contains(found->name)) {
    return refuse(fmt::format("there is a real device '{}'", found->name));
  }
  return found->name;
}

}  // namespace

Expected<std::vector<DeviceDescription>, std::string> choose_dpdk_devices(
    const std::vector<DpdkPort>& ports, const std::vector<Interface>& interfaces,
    const std::vector<DeviceRequest>& requests, const std::set<std::string>& taken,
    std::string_view identity) {
  for (const DeviceRequest& request : requests) {
    if (std::ranges::find(ports, request.ifname, &DpdkPort::name) == ports.end()) {
      return refuse(fmt::format("DPDK has no port '{}'", request.ifname));
    }
    if (std::ranges::count(requests, request.name, &DeviceRequest::name) > 1) {
      return refuse(fmt::format("device '{}' is named twice", request.name));
    }
    if (std::ranges::count(requests, request.ifname, &DeviceRequest::ifname) > 1) {
      return refuse(fmt::format("port '{}' can be only one device", request.ifname));
    }
  }
  std::vector<DeviceDescription> devices;
  for (const DpdkPort& port : ports) {
    auto name = name_port(port, requests, taken);
    if (!name) return refuse(name.error());
    if (name->empty()) continue;
    const auto interface = std::ranges::find(interfaces, port.interface_index, &Interface::ifindex);
    const bool kernels = port.interface_index != 0 && interface != interfaces.end();
    if (port.addresses.empty() && (!kernels || interface->gids.empty())) {
      return refuse(
          fmt::format("port '{}' has no IP address: say -- address=192.0.2.1/24, for "
                      "instance, behind the arguments of DPDK",
                      port.name));
    }
    devices.push_back(
        describe_port(port, *name, kernels ? &*interface : nullptr, devices.size(), identity));
  }
  return devices;
}

DeviceDescription follow_interface(const DeviceDescription& was, const Interface* now) {
  DeviceDescription device = was;
  device.gone = now == nullptr;
  device.link_up = now != nullptr && now->link_up;
  device.gids =
      merge_gids(was.gids, now != nullptr ? now->gids : std::vector<Gid>(), kGidTableLength);
  if (now == nullptr) return device;
  device.ifname = now->name;
  device.mtu = was.most_mtu != 0 ? std::min(was.most_mtu, now->mtu) : now->mtu;
  if (now->link_up || was.speed_mbps == 0) set_rate(device, *now);
  return device;
}

bool is_presentable(const Interface& interface) {
  return interface.up && !interface.gids.empty();
}

std::string default_device_name(std::string_view ifname) {
  std::string name = "urxe_";
  for (char c : ifname.substr(0, kLongestName - name.size())) {
    name += is_name_character(c) ? c : '_';
  }
  if (name.ends_with(kCountersSuffix)) name.back() = '_';
  return name;
}

Expected<DeviceRequest, std::string> parse_device_request(std::string_view text) {
  const size_t equals = text.find('=');
  const std::string ifname(equals == std::string_view::npos ? text : text.substr(equals + 1));
  DeviceRequest request{equals == std::string_view::npos ? default_device_name(ifname)
                                                         : std::string(text.substr(0, equals)),
                        ifname};
  if (!is_device_name(request.name)) {
    return refuse(fmt::format(
        "'{}' is not a device name: 1 to 63 letters, digits, '_', '-' and '.', the first not '.', "
        "and not {} at the end",
        request.name, kCountersSuffix));
  }
  if (request.ifname.empty()) return refuse(fmt::format("'{}' names no interface", text));
  return request;
}

Expected<std::vector<DeviceDescription>, std::string> choose_devices(
    const std::vector<Interface>& interfaces, const std::vector<DeviceRequest>& requests,
    const std::set<std::string>& taken) {
  if (requests.empty()) return all_devices(interfaces, taken);
  std::vector<DeviceDescription> devices;
  for (const DeviceRequest& request : requests) {
    if (taken.contains(request.name)) {
      return refuse(fmt::format("there is a real device '{}'", request.name));
    }
    for (const DeviceDescription& other : devices) {
      if (other.name == request.name)
        return refuse(fmt::format("device '{}' is named twice", other.name));
      if (other.ifname == request.ifname) {
        return refuse(fmt::format("interface '{}' can be only one device", other.ifname));
      }
    }
    auto interface = find_presentable(interfaces, request.ifname);
    if (!interface) return refuse(interface.error());
    devices.push_back(describe(**interface, request.name, devices));
  }
  return devices;
}

}  // namespace urxe
