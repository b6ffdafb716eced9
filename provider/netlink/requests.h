// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>

#include "provider/devices/counter_sums.h"
#include "provider/netlink/answer.h"
#include "provider/netlink/resource_messages.h"

namespace urxe::netlink {

/// Where the answers come from.
struct Sources {
  std::vector<DeviceDescription> devices;
  std::function<std::optional<CounterSums>(const std::string& device)> counters;
  std::function<Observation()> observe;
};

/// Whether the request names one of urxe's devices, or one that nobody has.
bool is_for_our_device(const Request& request);
/// Whether it names no device.
inline bool is_for_all_devices(const Request& request) {
  return !request.has(RDMA_NLDEV_ATTR_DEV_INDEX);
}

/// Carries out a request of RDMA_NL_NLDEV about urxe's devices; `port` is that of the program's
/// socket.
Answer answer(const Request& request, uint32_t port, const Sources& sources);

}  // namespace urxe::netlink
