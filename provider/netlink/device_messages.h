// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "provider/devices/counter_sums.h"
#include "provider/netlink/answer.h"

namespace urxe::netlink {

// What there is to say of a device, as attributes behind those of add_device().

void add_device_information(MessageWriter& writer, const DeviceDescription& device);
void add_port_information(MessageWriter& writer, const DeviceDescription& device);

/// The system's, not a device's.
void add_system_information(MessageWriter& writer);

enum class CounterFacts : uint8_t {
  kValues,    ///< RDMA_NLDEV_CMD_STAT_GET
  kNumbering  ///< RDMA_NLDEV_CMD_STAT_GET_STATUS: all counters count
};
/// The hardware counters of the port, from the counter `from` on, as many as the message has room
/// for. Returns the first that it has no room for.
size_t add_counters(MessageWriter& writer, const CounterSums& sums, CounterFacts facts,
                    size_t from);

}  // namespace urxe::netlink
