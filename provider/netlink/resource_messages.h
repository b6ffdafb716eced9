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
inline constexpr ResourceKind kSharedReceiveQueues{
    RDMA_NLDEV_ATTR_RES_SRQ, RDMA_NLDEV_ATTR_RES_SRQ_ENTRY, RDMA_NLDEV_ATTR_RES_SRQN};
inline constexpr ResourceKind kContexts{RDMA_NLDEV_ATTR_RES_CTX, RDMA_NLDEV_ATTR_RES_CTX_ENTRY,
                                        RDMA_NLDEV_ATTR_RES_CTXN};
inline constexpr ResourceKind kCmIds{RDMA_NLDEV_ATTR_RES_CM_ID, RDMA_NLDEV_ATTR_RES_CM_ID_ENTRY,
                                     RDMA_NLDEV_ATTR_RES_CM_IDN};

/// Calls `visit` for each process that has the device.
template <class Visit>
void for_each_process(const Observation& seen, const DeviceDescription& device, Visit visit) {
  for (const DeviceObservation& process : seen.devices) {
    if (process.device == device.name) visit(process);
  }
}

/// Of the processes' objects, those of the device. Numbers other than those of queue pairs are each
/// process's own.
std::vector<Resource> queue_pairs_of(const Observation& seen, const DeviceDescription& device);
std::vector<Resource> completion_queues_of(const Observation& seen,
                                           const DeviceDescription& device);

std::vector<Resource> regions_of(const Observation& seen, const DeviceDescription& device);
std::vector<Resource> domains_of(const Observation& seen, const DeviceDescription& device);
std::vector<Resource> shared_receive_queues_of(const Observation& seen,
                                               const DeviceDescription& device);
std::vector<Resource> contexts_of(const Observation& seen, const DeviceDescription& device);
std::vector<Resource> cm_ids_of(const Observation& seen, const DeviceDescription& device);

/// How many of each kind there are.
void add_summary(MessageWriter& writer, const Observation& seen, const DeviceDescription& device);

}  // namespace urxe::netlink
