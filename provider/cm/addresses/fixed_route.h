// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <optional>

#include "provider/cm/addresses/device_lookup.h"

namespace urxe::cm {

// Ways to addresses by devices that the kernel has no interface for, and so no routes: ports of
// DPDK with addresses of their own.

/// The device that has a network with the address in it, the smallest such, and its GID there.
std::optional<DeviceGid> find_fixed_neighbour(const Gid& destination);

/// The first device that has a gateway of the destination's family.
std::optional<DeviceGid> find_fixed_gateway(const Gid& destination);

}  // namespace urxe::cm
