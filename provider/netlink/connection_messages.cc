// SPDX-License-Identifier: BSD-2-Clause
// Contexts, and ids of the connection manager.
#include <sys/socket.h>

#include <algorithm>
#include <array>

#include "provider/netlink/resource_messages.h"

namespace urxe::netlink {
namespace {

void add_context(MessageWriter& writer, uint32_t number, uint32_t pid) {
  writer.add_u32(RDMA_NLDEV_ATTR_RES_CTXN, number);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PID, pid);
}

/// As a sockaddr_storage.
void add_address(MessageWriter& writer, uint16_t type, const CmIdReport::SocketAddress& address) {
  if (address == CmIdReport::SocketAddress{}) return;
  std::array<uint8_t, sizeof(sockaddr_storage)> storage{};
  std::ranges::copy(address, storage.begin());
  writer.add(type, storage);
}

void add_cm_id(MessageWriter& writer, const CmIdReport& report, uint32_t pid) {
  writer.add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  if (report.qpn != 0) {
    writer.add_u32(RDMA_NLDEV_ATTR_RES_LQPN, report.qpn);
    writer.add_u8(RDMA_NLDEV_ATTR_RES_TYPE, report.qp_type);
  }
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PS, report.port_space);
  writer.add_u8(RDMA_NLDEV_ATTR_RES_STATE, report.state);
  add_address(writer, RDMA_NLDEV_ATTR_RES_SRC_ADDR, report.source);
  add_address(writer, RDMA_NLDEV_ATTR_RES_DST_ADDR, report.destination);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_CM_IDN, report.number);
  writer.add_u32(RDMA_NLDEV_ATTR_RES_PID, pid);
}

}  // namespace

std::vector<Resource> contexts_of(const Observation& seen, const DeviceDescription& device) {
  std::vector<Resource> all;
  for_each_process(seen, device, [&](const DeviceObservation& process) {
    for (const uint64_t context : process.contexts) {
      const auto number = static_cast<uint32_t>(context);
      all.push_back({number, [number, pid = process.pid](MessageWriter& writer) {
                       add_context(writer, number, pid);
                     }});
    }
  });
  return all;
}

std::vector<Resource> cm_ids_of(const Observation& seen, const DeviceDescription& device) {
  std::vector<Resource> all;
  for_each_process(seen, device, [&](const DeviceObservation& process) {
    for (const CmIdReport& report : process.cm_ids) {
      all.push_back({report.number, [&report, pid = process.pid](MessageWriter& writer) {
                       add_cm_id(writer, report, pid);
                     }});
    }
  });
  return all;
}

}  // namespace urxe::netlink
