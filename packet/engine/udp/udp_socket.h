// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/engine/engine.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/gid.h"

namespace urxe {

struct UdpSocketOptions {
  uint32_t scope = 0;    ///< interface index, for link-local IPv6 addresses and multicast
  int buffer_bytes = 0;  ///< asked for (ask_receive_room(), ask_send_room())
  bool offload = true;   ///< receive coalesced buffers (UDP_GRO) if the kernel can
};

/// A nonblocking socket on (local, 4791) that other sockets of the same user may share. Reports the
/// traffic class and hop limit of received packets.
Expected<FileDescriptor, EngineError> open_receive_socket(const Gid& local,
                                                          const UdpSocketOptions& options);

/// Makes a new UDP socket such a one. If that fails, it may be tried again.
Expected<void, EngineError> bind_receive_socket(int fd, const Gid& local,
                                                const UdpSocketOptions& options);

/// A nonblocking socket on (group, 4791), a member of that multicast group on the interface
/// `options.scope`. Every such socket of the host, of any process, gets a copy of each packet.
Expected<FileDescriptor, EngineError> open_group_socket(const Gid& group,
                                                        const UdpSocketOptions& options);

/// A socket that holds a port on all addresses of the host, so that no other process has it on any:
/// any user could bind it on another address, and still name that of a send socket as the source of
/// each packet (IP_PKTINFO). EADDRINUSE: somebody has the port; EACCES, EMFILE, ...
Expected<FileDescriptor, Errno> take_port(uint16_t port);

/// A nonblocking socket on (local, port) for sending only: nobody reads it, and the kernel keeps no
/// more than two packets that arrive there. Its IPv4 packets have DF set and identification 0.
/// `holder`: the socket by take_port(), which must stay open as long. EADDRINUSE, EMFILE, ...
Expected<FileDescriptor, Errno> open_send_socket(const Gid& local, uint16_t port, int holder,
                                                 const UdpSocketOptions& options);

/// How many bytes, as the kernel counts them, can wait at a receive socket; 0 if unknown.
size_t receive_buffer_bytes(const UdpSocketOptions& options);

/// Whether the kernel can segment sent packets (UDP_SEGMENT).
bool kernel_segments_udp();

}  // namespace urxe
