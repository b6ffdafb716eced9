// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "provider/cm/addresses/addresses.h"
#include "provider/devices/device_file.h"

namespace urxe::cm {

/// The devices of this process as the tree describes them now, sorted by name.
std::vector<DeviceDescription> list_devices();

/// Checks that there are free descriptors: without them a lookup would report that there is no
/// device. EMFILE, ENFILE.
Expected<void, Errno> check_descriptors();

/// A device's GID.
struct DeviceGid {
  DeviceDescription device;
  uint8_t index = 0;
};

/// The device that has the address. For a link-local address without scope this is the first device
/// that has it; for a loopback address that no device has, the device that has 127.0.0.1, or else,
/// as in Linux, the first device that could carry it (by name, of the same family). If the tree
/// lacks an address of this host, it is brought up to date first. ENODEV: no device has the
/// address; EADDRNOTAVAIL: this host does not have it, or it is a wildcard or a group; EMFILE,
/// ENFILE.
Expected<DeviceGid, Errno> find_device(const Address& local);

/// A device's port and GID.
struct LocalDevice {
  std::string device;
  uint8_t port = 1;
  uint8_t gid_index = 0;
  Gid gid;
};
/// The same by name, with the errors of find_device(). Any thread.
Expected<LocalDevice, Errno> find_local(const Address& local);

}  // namespace urxe::cm
