// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <functional>

#include "provider/netlink/answer.h"
#include "provider/observation/stat_reader.h"

namespace urxe::netlink {

// Resources: what processes of the user have made of a device, as they publish it.

/// One resource, as attributes.
using Entry = std::function<void(MessageWriter&)>;

/// Resources of a kind.
struct ResourceKind {
  uint16_t table;   ///< the attribute of all of them
  uint16_t entry;   ///< of one
  uint16_t number;  ///< by which one is asked for
};

struct Resource {
  uint32_t number = 0;
  Entry entry;
};

inline constexpr ResourceKind kQueuePairs{RDMA_NLDEV_ATTR_RES_QP, RDMA_NLDEV_ATTR_RES_QP_ENTRY,
                                          RDMA_NLDEV_ATTR_RES_LQPN};
inline constexpr ResourceKind kCompletionQueues{
    RDMA_NLDEV_ATTR_RES_CQ, RDMA_NLDEV_ATTR_RES_CQ_ENTRY, RDMA_NLDEV_ATTR_RES_CQN};

inline constexpr ResourceKind kRegions{RDMA_NLDEV_ATTR_RES_MR, RDMA_NLDEV_ATTR_RES_MR_ENTRY,
                                       RDMA_NLDEV_ATTR_RES_MRN};
inline constexpr ResourceKind kDomains{RDMA_NLDEV_ATTR_RES_PD, RDMA_NLDEV_ATTR_RES_PD_ENTRY,
                                       RDMA_NLDEV_ATTR_RES_PDN};

/// Of the processes' objects, those of the device. Numbers other than those of queue pairs are each
/// process's own.
std::vector<Resource> queue_pairs_of(const Observation& seen, const DeviceDescription& device);
std::vector<Resource> completion_queues_of(const Observation& seen,
                                           const DeviceDescription& device);

std::vector<Resource> regions_of(const Observation& seen, const DeviceDescription& device);
std::vector<Resource> domains_of(const Observation& seen, const DeviceDescription& device);

/// How many of each kind there are.
void add_summary(MessageWriter& writer, const Observation& seen, const DeviceDescription& device);

}  // namespace urxe::netlink
