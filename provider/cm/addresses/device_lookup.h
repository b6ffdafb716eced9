// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "packet/base/expected.h"
#include "provider/cm/addresses/addresses.h"
#include "provider/devices/device_file.h"

namespace urxe::cm {

/// This process's devices as their tree describes them now, by name.
std::vector<DeviceDescription> list_devices();

/// Whether there are descriptors to be had: who has none finds no device, and would say so. EMFILE,
/// ENFILE.
Expected<void, Errno> find_descriptors();

/// A device's GID.
struct DeviceGid {
  DeviceDescription device;
  uint8_t index = 0;
};

/// The device that has the address: of a link-local one without scope, the first that has it; of
/// 127.0.0.0/8 the one that has 127.0.0.1 if need be. The tree is brought up to date where it lacks
/// an address that is one of this host's. ENODEV: ours has none with it; EADDRNOTAVAIL: nor has
/// this host, or it is no address of one host; EMFILE, ENFILE: it cannot be told for want of
/// descriptors.
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
