// SPDX-License-Identifier: BSD-2-Clause
#include "packet/engine/raw/packet_socket.h"

#include <arpa/inet.h>
#include <linux/if_packet.h>
#include <linux/rtnetlink.h>
#include <net/ethernet.h>
#include <net/if.h>
#include <net/if_arp.h>
#include <sys/socket.h>
#include <sys/utsname.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string>

#include "packet/engine/raw/raw_filter.h"
#include "packet/host/netlink_request.h"
#include "packet/host/socket_room.h"

#ifndef PACKET_IGNORE_OUTGOING
#define PACKET_IGNORE_OUTGOING 23
#endif

namespace urxe {
namespace {

constexpr const char* kGrantingHelp =
    "it needs the capability CAP_NET_RAW. What to do: run as root, or as root start \"setpriv "
    "--reuid=USER --regid=GROUP --init-groups --inh-caps=+net_raw --ambient-caps=+net_raw -- urxe "
    "run --engine raw ...\" (not setcap, which keeps the devices from the program), or use "
    "--engine "
    "udp";

EngineError opening_error(int errno_value) {
  const std::string what = "the raw engine cannot open a packet socket: ";
  if (errno_value == EPERM || errno_value == EACCES) return {EPERM, what + kGrantingHelp};
  if (errno_value == EAFNOSUPPORT) {
    return {errno_value, what + "this kernel has none (CONFIG_PACKET). What to do: --engine udp"};
  }
  return {errno_value, what + std::strerror(errno_value)};
}

EngineError setup_error(const char* step, int errno_value) {
  std::string what = std::string("the raw engine cannot ") + step + ": ";
  if (errno_value == ENODEV || errno_value == ENXIO) {
    return {ENODEV, what + "the network interface is gone"};
  }
  if (errno_value == ENOMEM || errno_value == EAGAIN) {
    what += std::strerror(errno_value);
    return {ENOMEM, what +
                        ". What to do: raise the limits on memory (ulimit -v, the container's), "
                        "or use --engine udp"};
  }
  return {errno_value, what + std::strerror(errno_value)};
}

bool set(int fd, int option, int value) {
  return setsockopt(fd, SOL_PACKET, option, &value, sizeof value) == 0;
}

FileDescriptor open_silent() {
  // Protocol 0: it receives nothing yet.
  return FileDescriptor(socket(AF_PACKET, SOCK_RAW | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
}

}  // namespace

bool make_packet_ring(int fd, size_t blocks) {
  tpacket_req ring{};
  ring.tp_block_size = kRingBlockBytes;
  ring.tp_frame_size = kRingSlotBytes;
  ring.tp_block_nr = static_cast<unsigned>(blocks);
  ring.tp_frame_nr = static_cast<unsigned>(blocks * kRingBlockSlots);
  return setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &ring, sizeof ring) == 0;
}

void drop_packet_ring(int fd) {
  const tpacket_req none{};
  setsockopt(fd, SOL_PACKET, PACKET_RX_RING, &none, sizeof none);
}

namespace {

void set_buffers(int fd, int bytes) {
  ask_receive_room(fd, bytes);
  ask_send_room(fd, bytes);
}

bool bind_to(int fd, uint32_t ifindex, uint16_t protocol) {
  sockaddr_ll address{};
  address.sll_family = AF_PACKET;
  address.sll_protocol = htons(protocol);
  address.sll_ifindex = static_cast<int>(ifindex);
  return bind(fd, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
}

/// The version must come before the virtio headers, and both before the ring.
bool set_layout(int fd) {
  return set(fd, PACKET_VERSION, TPACKET_V2) && set(fd, PACKET_VNET_HDR, 1) &&
         set(fd, PACKET_COPY_THRESH, 1) && set(fd, PACKET_IGNORE_OUTGOING, 1);
}

}  // namespace

bool start_packet_socket(int fd, uint32_t ifindex) {
  return bind_to(fd, ifindex, ETH_P_ALL);  // ETH_P_IP loses the tags of VLANs
}

bool show_outgoing_packets(int fd, bool shown) {
  return set(fd, PACKET_IGNORE_OUTGOING, shown ? 0 : 1);
}

FileDescriptor open_silent_packet_socket(int buffer_bytes) {
  FileDescriptor fd = open_silent();
  if (!fd || !set_layout(fd.get())) return {};
  set_buffers(fd.get(), buffer_bytes);
  return fd;
}

FileDescriptor open_sending_packet_socket(uint32_t ifindex, int buffer_bytes) {
  FileDescriptor fd = open_silent();
  // Protocol 0: it never receives.
  if (!fd || !bind_to(fd.get(), ifindex, 0)) return {};
  set_buffers(fd.get(), buffer_bytes);
  return fd;
}

Expected<FileDescriptor, EngineError> open_packet_socket(const PacketSocketOptions& options) {
  FileDescriptor fd = open_silent();
  if (!fd) return Unexpected<EngineError>(opening_error(errno));
  if (!set_layout(fd.get())) {
    return Unexpected<EngineError>(setup_error("set up its packet socket", errno));
  }
  if (auto filtered = attach_packet_filter(fd.get(), options.slot); !filtered) {
    return Unexpected<EngineError>(setup_error("attach its filter", filtered.error().value));
  }
  set_buffers(fd.get(), options.buffer_bytes);
  if (!make_packet_ring(fd.get(), options.ring_blocks)) {
    return Unexpected<EngineError>(setup_error("make its receive ring", errno));
  }
  if (!start_packet_socket(fd.get(), options.interface_index)) {
    return Unexpected<EngineError>(setup_error("bind its packet socket", errno));
  }
  return fd;
}

bool packet_sockets_carry_batches(const char* release) {
  unsigned major = 0;
  unsigned minor = 0;
  if (std::sscanf(release, "%u.%u", &major, &minor) != 2) return true;
  return major > 6 || (major == 6 && minor >= 2);
}

Expected<void, EngineError> check_packet_sockets() {
  if (!open_silent()) return Unexpected<EngineError>(opening_error(errno));
  utsname kernel{};
  if (uname(&kernel) != 0 || packet_sockets_carry_batches(kernel.release)) return {};
  return Unexpected<EngineError>(
      {EOPNOTSUPP, std::string("the raw engine needs Linux 6.2 or later: packet sockets of this "
                               "kernel (") +
                       kernel.release +
                       ") lose packets that come in batches. What to do: use --engine udp"});
}

Expected<bool, Errno> is_ethernet(uint32_t ifindex) {
  ifinfomsg question{};
  question.ifi_family = AF_UNSPEC;
  question.ifi_index = static_cast<int>(ifindex);
  const auto answer = NetlinkRequest(RTM_GETLINK, question).ask();
  if (!answer) return error(answer.error().value);
  const auto link = answer->header<ifinfomsg>();
  return link.ifi_type == ARPHRD_ETHER && (link.ifi_flags & IFF_LOOPBACK) == 0;
}

}  // namespace urxe
