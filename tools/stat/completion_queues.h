// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "provider/observation/stat_reader.h"

namespace urxe::stat {

/// A completion queue, and how many queue pairs use it.
struct UsedCq {
  CqReport cq;
  size_t queue_pairs = 0;
};

/// Those that queue pairs of the device use, by number.
std::vector<UsedCq> completion_queues_of(const DeviceObservation& device);

/// "overrun", "armed", or "".
std::string_view cq_state(const CqReport& cq);

/// A table of at most 80 columns, a line a completion queue.
std::string cq_report(const Observation& seen);

}  // namespace urxe::stat
