// SPDX-License-Identifier: BSD-2-Clause
#include "provider/netlink/device_messages.h"

#include <infiniband/verbs.h>

#include "packet/engine/engine_choice.h"
#include "provider/devices/identity.h"
#include "provider/runtime/device/capabilities.h"

namespace urxe::netlink {
namespace {

constexpr uint8_t kPhysicalLinkDown = 3;  // "Disabled"
constexpr uint8_t kPhysicalLinkUp = 5;

void add_network_interface(MessageWriter& writer, const DeviceDescription& device) {
  if (device.gone || device.is_fixed()) return;
  writer.add_u32(RDMA_NLDEV_ATTR_NDEV_INDEX, device.ifindex);
  writer.add_string(RDMA_NLDEV_ATTR_NDEV_NAME, device.ifname);
}

void add_counter(MessageWriter& writer, const CounterSums& sums, CounterFacts facts,
                 size_t number) {
  writer.add_string(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_NAME, kHardwareCounterNames[number]);
  if (facts == CounterFacts::kNumbering) {
    writer.add_u32(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_INDEX, static_cast<uint32_t>(number));
  } else {
    writer.add_u64(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY_VALUE,
                   sums[kPortCounterNames.size() + number]);
  }
}

}  // namespace

void add_device_information(MessageWriter& writer, const DeviceDescription& device) {
  writer.add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);  // how many there are
  const bool has_raw_packets = !device.gone && has_ethernet_frames(device.ifindex);
  writer.add_u64(RDMA_NLDEV_ATTR_CAP_FLAGS, device_capabilities(has_raw_packets));
  writer.add_string(RDMA_NLDEV_ATTR_FW_VERSION, kFirmwareVersion);
  writer.add_u64(RDMA_NLDEV_ATTR_NODE_GUID, device.node_guid);
  writer.add_u64(RDMA_NLDEV_ATTR_SYS_IMAGE_GUID, device.node_guid);
  writer.add_u8(RDMA_NLDEV_ATTR_DEV_NODE_TYPE, IBV_NODE_CA);
  writer.add_string(RDMA_NLDEV_ATTR_DEV_PROTOCOL, "roce");
  writer.add_u8(RDMA_NLDEV_ATTR_DEV_DIM, 0);  // nothing changes the moderation of events by itself
}

void add_port_information(MessageWriter& writer, const DeviceDescription& device) {
  writer.add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  writer.add_u8(RDMA_NLDEV_ATTR_PORT_STATE, device.link_up ? IBV_PORT_ACTIVE : IBV_PORT_DOWN);
  writer.add_u8(RDMA_NLDEV_ATTR_PORT_PHYS_STATE,
                device.link_up ? kPhysicalLinkUp : kPhysicalLinkDown);
  add_network_interface(writer, device);
}

void add_system_information(MessageWriter& writer) {
  // Each network namespace has devices of its own.
  writer.add_u8(RDMA_NLDEV_SYS_ATTR_NETNS_MODE, 0);
  // fork() takes no registered memory away from the parent.
  writer.add_u8(RDMA_NLDEV_SYS_ATTR_COPY_ON_FORK, 1);
  // Any program may have a Q_Key with the highest bit set.
  writer.add_u8(kPrivilegedQKeyMode, 1);
}

size_t add_counters(MessageWriter& writer, const CounterSums& sums, CounterFacts facts,
                    size_t from) {
  writer.add_u32(RDMA_NLDEV_ATTR_PORT_INDEX, kPort);
  const size_t table = writer.begin_nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTERS);
  size_t number = from;
  for (; number < kHardwareCounterNames.size(); ++number) {
    const size_t entry = writer.begin_nest(RDMA_NLDEV_ATTR_STAT_HWCOUNTER_ENTRY);
    add_counter(writer, sums, facts, number);
    writer.end_nest(entry);
    if (writer.size() > kLongestMessage) {
      writer.drop_nest(entry);
      break;
    }
  }
  writer.end_nest(table);
  return number;
}

}  // namespace urxe::netlink
