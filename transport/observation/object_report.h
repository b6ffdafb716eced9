// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace urxe {

// What a device tells of its objects that are no queue pairs: plain values, which other processes
// may read.

struct ObjectCounts {
  uint64_t domains = 0;  ///< protection domains
  uint64_t regions = 0;
  uint64_t completion_queues = 0;
  uint64_t shared_receive_queues = 0;
};

/// A protection domain.
struct DomainReport {
  uint32_t number = 0;
  uint32_t users = 0;  ///< objects that belong to it
};

/// A memory region.
struct RegionReport {
  uint64_t iova = 0;
  uint64_t length = 0;
  uint32_t key = 0;  ///< lkey and rkey
  uint32_t domain = 0;
};

}  // namespace urxe
