// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/resource_messages.h"

#include <infiniband/verbs.h>

#include <map>

namespace urxe::netlink {
namespace {

bool can_migrate(const QpReport& report) {
  return report.type != IBV_QPT_UD && report.type != IBV_QPT_RAW_PACKET;
}

void add_queue_pair(MessageWriter& writer, const QpReport& report, uint32_t pid) {
  writer.add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_LQPN, report.qpn);
  if (report.type == IBV_QPT_RC || report.type == IBV_QPT_UC) {
    writer.add_u32(RDMA_NLDEV_ATTR_RES_RQPN, report.dest_qpn);
    writer.add_u32(RDMA_NLDEV_ATTR_RES_RQ_PSN, report.expected_psn);
  }
  writer.add_u32(RDMA_NLDEV_ATTR_RES_SQ_PSN, report.next_psn);
  if (can_migrate(report)) {
    writer.add_u8(RDMA_NLDEV_ATTR_RES_PATH_MIG_STATE, report.migration_state);
  }
  writer.add_u8(RDMA_NLDEV_ATTR_RES_TYPE, report.type);
  writer.add_u8(RDMA_NLDEV_ATTR_RES_STATE, report.state);
  if (report.domain != 0) writer.add_u32(RDMA_NLDEV_ATTR_RES_PDN, report.domain);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PID, pid);
}

/// The context that has made an object; 0: not known.
void add_owner(MessageWriter& writer, uint32_t context) {
  if (context != 0) writer.add_u32(RDMA_NLDEV_ATTR_RES_CTXN, context);
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
  add_owner(writer, report.owner);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PID, pid);
}

using CompletionQueues = std::map<uint32_t, CompletionQueueReport>;

/// By number: those that the process has told of, and of the others those that queue pairs use.
CompletionQueues completion_queues_of(const DeviceObservation& process) {
  CompletionQueues queues;
  for (const QpReport& report : process.queue_pairs) {
    for (const CqReport* const cq : {&report.send_cq, &report.receive_cq}) {
      if (cq->number == 0) continue;
      CompletionQueueReport& used = queues[cq->number];
      used.number = cq->number;
      used.capacity = cq->capacity;
      ++used.users;
    }
  }
  for (const CompletionQueueReport& report : process.completion_queues) {
    queues[report.number] = report;
  }
  return queues;
}

void add_completion_queue(MessageWriter& writer, const CompletionQueueReport& report,
                          uint32_t pid) {
  writer.add_u32(RDMA_NLDEV_ATTR_RES_CQE, report.capacity);
  writer.add_u64(RDMA_NLDEV_ATTR_RES_USECNT, report.users);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_CQN, report.number);
  add_owner(writer, report.owner);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PID, pid);
}

/// The queue pairs that use the queue, in a table; no more than `rdma` prints.
void add_users(MessageWriter& writer, const std::vector<QpReport>& all, uint32_t srq) {
  constexpr int kMost = 100;
  const size_t table = writer.begin_nest(RDMA_NLDEV_ATTR_RES_QP);
  int left = kMost;
  for (const QpReport& report : all) {
    if (report.srq != srq || left == 0) continue;
    const size_t entry = writer.begin_nest(RDMA_NLDEV_ATTR_RES_QP_ENTRY);
    writer.add_u32(RDMA_NLDEV_ATTR_RES_LQPN, report.qpn);
    writer.end_nest(entry);
    --left;
  }
  writer.end_nest(table);
}

void add_shared_receive_queue(MessageWriter& writer, const SharedReceiveQueueReport& report,
                              const DeviceObservation& process) {
  const bool is_xrc = report.completion_queue != 0;
  writer.add_u32(RDMA_NLDEV_ATTR_RES_SRQN, report.number);
  writer.add_u8(RDMA_NLDEV_ATTR_RES_TYPE, is_xrc ? IBV_SRQT_XRC : IBV_SRQT_BASIC);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PDN, report.domain);
  if (is_xrc) writer.add_u32(RDMA_NLDEV_ATTR_RES_CQN, report.completion_queue);
  add_users(writer, process.queue_pairs, report.number);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PID, process.pid);
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
    for (const auto& [number, seen_report] : completion_queues_of(process)) {
      all.push_back({number, [report = seen_report, pid = process.pid](MessageWriter& writer) {
                       add_completion_queue(writer, report, pid);
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

std::vector<Resource> shared_receive_queues_of(const Observation& seen,
                                               const DeviceDescription& device) {
  std::vector<Resource> all;
  for_each_process(seen, device, [&](const DeviceObservation& process) {
    for (const SharedReceiveQueueReport& report : process.shared_receive_queues) {
      all.push_back({report.number, [&report, &process](MessageWriter& writer) {
                       add_shared_receive_queue(writer, report, process);
                     }});
    }
  });
  return all;
}

void add_summary(MessageWriter& writer, const Observation& seen, const DeviceDescription& device) {
  uint64_t queue_pairs = 0;
  uint64_t contexts = 0;
  uint64_t cm_ids = 0;
  ObjectCounts counts;
  for_each_process(seen, device, [&](const DeviceObservation& process) {
    queue_pairs += process.queue_pairs.size() + process.left_out;
    contexts += process.context_count;
    cm_ids += process.cm_id_count;
    counts.domains += process.counts.domains;
    counts.completion_queues += process.counts.completion_queues;
    counts.regions += process.counts.regions;
    counts.shared_receive_queues += process.counts.shared_receive_queues;
  });
  const size_t table = writer.begin_nest(RDMA_NLDEV_ATTR_RES_SUMMARY);
  add_count(writer, "pd", counts.domains);
  add_count(writer, "cq", counts.completion_queues);
  add_count(writer, "qp", queue_pairs);
  add_count(writer, "cm_id", cm_ids);
  add_count(writer, "mr", counts.regions);
  add_count(writer, "ctx", contexts);
  add_count(writer, "srq", counts.shared_receive_queues);
  writer.end_nest(table);
}

}  // namespace urxe::netlink
