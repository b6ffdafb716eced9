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
  uint32_t owner = 0;  ///< as given to Device::alloc_pd()
  uint32_t unused = 0;
};

/// A completion queue.
struct CompletionQueueReport {
  uint32_t number = 0;
  uint32_t capacity = 0;
  uint32_t users = 0;  ///< work queues and shared receive queues that complete there
  uint32_t owner = 0;  ///< CqOptions::owner
};

/// A shared receive queue.
struct SharedReceiveQueueReport {
  uint32_t number = 0;
  uint32_t domain = 0;
  uint32_t completion_queue = 0;  ///< of an XRC queue; 0: it is a basic one
  uint32_t unused = 0;
};

/// A memory region.
struct RegionReport {
  uint64_t iova = 0;
  uint64_t length = 0;
  uint32_t key = 0;  ///< lkey and rkey
  uint32_t domain = 0;
};

}  // namespace urxe
