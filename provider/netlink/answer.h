// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <linux/netlink.h>
#include <rdma/rdma_netlink.h>

#include <string_view>
#include <vector>

#include "provider/devices/device_file.h"
#include "provider/netlink/message.h"

namespace urxe::netlink {

/// No message is longer: iproute2's `rdma` receives no more than a page.
inline constexpr size_t kLongestMessage = 4000;

// Of the headers of Linux 6.7 and later.
inline constexpr uint16_t kNewDevice = 26;     ///< RDMA_NLDEV_CMD_NEWDEV
inline constexpr uint16_t kDeleteDevice = 27;  ///< RDMA_NLDEV_CMD_DELDEV
/// RDMA_NLDEV_SYS_ATTR_PRIVILEGED_QKEY_MODE
inline constexpr uint16_t kPrivilegedQKeyMode = RDMA_NLDEV_ATTR_STAT_HWCOUNTER_DYNAMIC + 1;

/// Above the kernel's indexes, which count its devices.
inline constexpr uint32_t kFirstDeviceIndex = 10000;

/// The index by which netlink knows one of urxe's devices.
inline uint32_t device_index(const DeviceDescription& device) {
  return kFirstDeviceIndex + device.uverbs_number;
}

/// All devices have one port.
inline constexpr uint32_t kPort = 1;

/// The answer to a request, before its end.
struct Answer {
  std::vector<Bytes> messages;
  int errno_value = 0;  ///< 0: the request was carried out
  std::string_view explanation;

  static Answer of(MessageWriter& writer) {
    Answer one;
    one.messages.push_back(writer.finish());
    return one;
  }
  static Answer failure(int errno_value, std::string_view explanation) {
    return {{}, errno_value, explanation};
  }
};

/// A message of the answer to `request`, which goes to the port of a program's socket.
inline MessageWriter begin_message(const Request& request, uint32_t port) {
  nlmsghdr header{};
  header.nlmsg_type = request.header.nlmsg_type;
  header.nlmsg_flags = request.is_dump() ? NLM_F_MULTI : 0;
  header.nlmsg_seq = request.header.nlmsg_seq;
  header.nlmsg_pid = port;
  return MessageWriter(header);
}

/// What all messages about a device begin with.
inline void add_device(MessageWriter& writer, const DeviceDescription& device) {
  writer.add_u32(RDMA_NLDEV_ATTR_DEV_INDEX, device_index(device));
  writer.add_string(RDMA_NLDEV_ATTR_DEV_NAME, device.name);
}

}  // namespace urxe::netlink
