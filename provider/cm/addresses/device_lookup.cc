// SPDX-License-Identifier: BSD-2-Clause
#include "provider/cm/addresses/device_lookup.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <functional>
#include <optional>

#include "packet/host/file_descriptor.h"
#include "packet/host/socket_address.h"
#include "provider/devices/device_tree.h"
#include "provider/devices/tree_update.h"

namespace urxe::cm {
namespace {

/// More descriptors than a lookup has open at a time.
constexpr size_t kDescriptorsOfLookup = 8;

using Matches = std::function<bool(const DeviceDescription&, const Gid&)>;

std::optional<DeviceGid> find(const std::vector<DeviceDescription>& devices,
                              const Matches& matches) {
  for (const DeviceDescription& device : devices) {
    for (size_t i = 0; i < device.gids.size(); ++i) {
      if (matches(device, device.gids[i])) return DeviceGid{device, static_cast<uint8_t>(i)};
    }
  }
  return std::nullopt;
}

/// Any device leads to its own host. Of all addresses of the family that of a loopback interface,
/// or else the first one of a device whose link is up; one that is valid on a single link comes
/// last.
std::optional<DeviceGid> find_loopback(const std::vector<DeviceDescription>& devices,
                                       const Gid& wanted) {
  const auto is_loopback = [&](const DeviceDescription&, const Gid& gid) {
    return wanted.is_ipv4() && gid.is_ipv4() && gid.ipv4()[0] == 127;
  };
  const auto is_of_family = [&](const DeviceDescription& device, const Gid& gid) {
    return device.link_up && !gid.is_zero() && gid.is_ipv4() == wanted.is_ipv4();
  };
  const auto is_wide = [&](const DeviceDescription& device, const Gid& gid) {
    return is_of_family(device, gid) && !gid.is_ipv6_link_local();
  };
  for (const Matches& matches : {Matches(is_loopback), Matches(is_wide), Matches(is_of_family)}) {
    if (auto found = find(devices, matches)) return found;
  }
  return std::nullopt;
}

std::optional<DeviceGid> find_among(const std::vector<DeviceDescription>& devices,
                                    const Address& local) {
  const Gid wanted = local.gid();
  const uint32_t scope = local.is_link_local() ? local.scope_id() : 0;
  auto found = find(devices, [&](const DeviceDescription& device, const Gid& gid) {
    return gid == wanted && (scope == 0 || scope == device.ifindex);
  });
  return found || !local.is_loopback() ? found : find_loopback(devices, wanted);
}

bool is_address_of_host(const Address& address) {
  const SocketAddress name(address.gid(), 0, address.scope_id());
  const FileDescriptor fd(socket(name.family(), SOCK_DGRAM | SOCK_CLOEXEC, 0));
  // EINVAL: a link-local address without scope, which may be ours.
  return fd && (bind(fd.get(), name.get(), name.size()) == 0 || errno == EINVAL);
}

}  // namespace

Expected<void, Errno> check_descriptors() {
  std::array<FileDescriptor, kDescriptorsOfLookup> spare;
  for (FileDescriptor& fd : spare) {
    fd = FileDescriptor(socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0));
    if (!fd) return error(errno);
  }
  return {};
}

std::vector<DeviceDescription> list_devices() {
  if (device_tree().empty()) return {};
  return read_devices(device_tree());
}

Expected<DeviceGid, Errno> find_device(const Address& local) {
  if (!local.is_set() || local.is_any() || local.is_multicast()) return error(EADDRNOTAVAIL);
  if (auto found = find_among(list_devices(), local)) return *std::move(found);
  if (auto spare = check_descriptors(); !spare) return Unexpected<Errno>(spare.error());
  if (!is_address_of_host(local)) return error(EADDRNOTAVAIL);
  // While no device is open, nothing keeps the tree up to date.
  const auto update = update_tree(device_tree());
  if (!update) return error(ENODEV);
  if (auto found = find_among(update->devices, local)) return *std::move(found);
  return error(ENODEV);
}

Expected<LocalDevice, Errno> find_local(const Address& local) {
  auto found = find_device(local);
  if (!found) return error(found.error().value);
  return LocalDevice{found->device.name, 1, found->index, found->device.gids[found->index]};
}

}  // namespace urxe::cm
