// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/fixed_route.h"

#include <algorithm>

namespace urxe::cm {
namespace {

std::optional<DeviceGid> find_gid(const DeviceDescription& device, const Gid& gid) {
  const auto found = std::ranges::find(device.gids, gid);
  if (found == device.gids.end()) return std::nullopt;
  return DeviceGid{device, static_cast<uint8_t>(found - device.gids.begin())};
}

bool is_of_family(const Gid& one, const Gid& other) {
  return one.is_ipv4() == other.is_ipv4();
}

}  // namespace

std::optional<DeviceGid> find_fixed_neighbour(const Gid& destination) {
  std::optional<DeviceGid> best;
  int best_bits = -1;
  for (const DeviceDescription& device : list_devices()) {
    for (const IpNetwork& network : device.networks) {
      if (!is_of_family(network.address, destination) || !network.contains(destination)) continue;
      if (network.prefix_bits <= best_bits) continue;
      best = find_gid(device, network.address);
      best_bits = network.prefix_bits;
    }
  }
  return best;
}

std::optional<DeviceGid> find_fixed_gateway(const Gid& destination) {
  for (const DeviceDescription& device : list_devices()) {
    for (const Gid& gateway : device.gateways) {
      if (!is_of_family(gateway, destination)) continue;
      for (const IpNetwork& network : device.networks) {
        if (network.contains(gateway)) return find_gid(device, network.address);
      }
    }
  }
  return std::nullopt;
}

}  // namespace urxe::cm
