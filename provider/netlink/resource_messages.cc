// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/resource_messages.h"

#include <infiniband/verbs.h>

#include <map>

namespace urxe::netlink {
namespace {

template <class Visit>
void for_each_process(const Observation& seen, const DeviceDescription& device, Visit visit) {
  for (const DeviceObservation& process : seen.devices) {
    if (process.device == device.name) visit(process);
  }
}

void add_queue_pair(MessageWriter& writer, const QpReport& report, uint32_t pid) {
  writer.add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_LQPN, report.qpn);
  if (report.type == IBV_QPT_RC || report.type == IBV_QPT_UC) {
    writer.add_u32(RDMA_NLDEV_ATTR_RES_RQPN, report.dest_qpn);
    writer.add_u32(RDMA_NLDEV_ATTR_RES_RQ_PSN, report.expected_psn);
  }
  writer.add_u32(RDMA_NLDEV_ATTR_RES_SQ_PSN, report.next_psn);
  writer.add_u8(RDMA_NLDEV_ATTR_RES_TYPE, report.type);
  writer.add_u8(RDMA_NLDEV_ATTR_RES_STATE, report.state);
  if (report.domain != 0) writer.add_u32(RDMA_NLDEV_ATTR_RES_PDN, report.domain);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PID, pid);
}

/// The lowest byte of a key is the application's to change.
uint32_t number_of(const RegionReport& report) {
  return report.key >> 8;
}

void add_region(MessageWriter& writer, const RegionReport& report, uint32_t pid) {
  writer.add_u32(RDMA_NLDEV_ATTR_RES_RKEY, report.key);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_LKEY, report.key);
  writer.add_u64(RDMA_NLDEV_ATTR_RES_IOVA, report.iova);
  writer.add_u64(RDMA_NLDEV_ATTR_RES_MRLEN, report.length);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_MRN, number_of(report));
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PDN, report.domain);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PID, pid);
}

void add_domain(MessageWriter& writer, const DomainReport& report, uint32_t pid) {
  writer.add_u64(RDMA_NLDEV_ATTR_RES_USECNT, report.users);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PDN, report.number);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PID, pid);
}

struct UsedQueue {
  CqReport report;
  uint64_t users = 0;  ///< work queues
};

using UsedQueues = std::map<uint32_t, UsedQueue>;

/// Those that queue pairs of the process use, by number.
UsedQueues used_queues_of(const DeviceObservation& process) {
  UsedQueues queues;
  for (const QpReport& report : process.queue_pairs) {
    for (const CqReport* const cq : {&report.send_cq, &report.receive_cq}) {
      if (cq->number == 0) continue;
      UsedQueue& used = queues[cq->number];
      used.report = *cq;
      ++used.users;
    }
  }
  return queues;
}

void add_completion_queue(MessageWriter& writer, const UsedQueue& queue, uint32_t pid) {
  writer.add_u32(RDMA_NLDEV_ATTR_RES_CQE, queue.report.capacity);
  writer.add_u64(RDMA_NLDEV_ATTR_RES_USECNT, queue.users);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_CQN, queue.report.number);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PID, pid);
}

void add_count(MessageWriter& writer, std::string_view name, uint64_t count) {
  const size_t entry = writer.begin_nest(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY);
  writer.add_string(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_NAME, name);
  writer.add_u64(RDMA_NLDEV_ATTR_RES_SUMMARY_ENTRY_CURR, count);
  writer.end_nest(entry);
}

}  // namespace

std::vector<Resource> queue_pairs_of(const Observation& seen, const DeviceDescription& device) {
  std::vector<Resource> all;
  for_each_process(seen, device, [&](const DeviceObservation& process) {
    for (const QpReport& report : process.queue_pairs) {
      all.push_back({report.qpn, [&report, pid = process.pid](MessageWriter& writer) {
                       add_queue_pair(writer, report, pid);
                     }});
    }
  });
  return all;
}

std::vector<Resource> completion_queues_of(const Observation& seen,
                                           const DeviceDescription& device) {
  std::vector<Resource> all;
  for_each_process(seen, device, [&](const DeviceObservation& process) {
    for (const auto& [number, queue] : used_queues_of(process)) {
      all.push_back({number, [queue = queue, pid = process.pid](MessageWriter& writer) {
                       add_completion_queue(writer, queue, pid);
                     }});
    }
  });
  return all;
}

std::vector<Resource> regions_of(const Observation& seen, const DeviceDescription& device) {
  std::vector<Resource> all;
  for_each_process(seen, device, [&](const DeviceObservation& process) {
    for (const RegionReport& report : process.regions) {
      all.push_back({number_of(report), [&report, pid = process.pid](MessageWriter& writer) {
                       add_region(writer, report, pid);
                     }});
    }
  });
  return all;
}

std::vector<Resource> domains_of(const Observation& seen, const DeviceDescription& device) {
  std::vector<Resource> all;
  for_each_process(seen, device, [&](const DeviceObservation& process) {
    for (const DomainReport& report : process.domains) {
      all.push_back({report.number, [&report, pid = process.pid](MessageWriter& writer) {
                       add_domain(writer, report, pid);
                     }});
    }
  });
  return all;
}

void add_summary(MessageWriter& writer, const Observation& seen, const DeviceDescription& device) {
  uint64_t queue_pairs = 0;
  ObjectCounts counts;
  for_each_process(seen, device, [&](const DeviceObservation& process) {
    queue_pairs += process.queue_pairs.size() + process.left_out;
    counts.domains += process.counts.domains;
    counts.completion_queues += process.counts.completion_queues;
    counts.regions += process.counts.regions;
    counts.shared_receive_queues += process.counts.shared_receive_queues;
  });
  const size_t table = writer.begin_nest(RDMA_NLDEV_ATTR_RES_SUMMARY);
  add_count(writer, "pd", counts.domains);
  add_count(writer, "cq", counts.completion_queues);
  add_count(writer, "qp", queue_pairs);
  add_count(writer, "mr", counts.regions);
  add_count(writer, "srq", counts.shared_receive_queues);
  writer.end_nest(table);
}

}  // namespace urxe::netlink
