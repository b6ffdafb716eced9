// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "provider/observation/stat_reader.h"

namespace urxe::stat {

enum class GroupBy : uint8_t {
  kProcess,  ///< all devices of a process
  kDevice,   ///< all processes of a device
};

/// What several processes told of a device, or one process of several. Never empty; a pair of
/// process and device is in it once, or more often if the process has opened the device again.
using Group = std::vector<const DeviceObservation*>;

/// In the order of the first of each.
std::vector<Group> groups_of(const Observation& seen, GroupBy by);

size_t count_processes(const Group& group);
size_t count_devices(const Group& group);
size_t count_queue_pairs(const Group& group);
size_t count_failed(const Group& group);

/// "stopped 12s" if its only process is stopped, "2 stopped" if so many of them are, or "".
std::string stopped_in(const Group& group);

/// A table of at most 80 columns, a line a group. With `before`, counts are those of a second in
/// between.
std::string group_report(const Observation& seen, const Observation* before, GroupBy by);

}  // namespace urxe::stat
