// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/engine/engine.h"
#include "packet/host/file_descriptor.h"
#include "packet/wire/gid.h"

namespace urxe {

/// Hop limit of a sending socket: what goes out without a control message. A flow whose hop limit
/// is 0, which no IP packet can carry, gets it too.
inline constexpr uint8_t kDefaultHopLimit = 64;

struct UdpSocketOptions {
  uint32_t scope = 0;    ///< interface index, for link-local IPv6 addresses and multicast
  int buffer_bytes = 0;  ///< asked for; the kernel gives what the user may have
  bool offload = true;   ///< receive coalesced buffers (UDP_GRO) where the kernel can
};

/// A nonblocking socket on (local, 4791) that other sockets of the same user may share. Reports
/// traffic class and hop limit of what it receives.
Expected<FileDescriptor, EngineError> open_receive_socket(const Gid& local,
                                                          const UdpSocketOptions& options);

/// A nonblocking socket on (group, 4791), a member of that multicast group on the interface
/// `options.scope`. Every such socket of the host gets every packet, whoever opened it.
Expected<FileDescriptor, EngineError> open_group_socket(const Gid& group,
                                                        const UdpSocketOptions& options);

/// A nonblocking socket on (local, port) for sending only: what arrives there is dropped. Its IPv4
/// packets have DF set and identification 0. The error is the errno (EADDRINUSE, ...).
Expected<FileDescriptor, Errno> open_send_socket(const Gid& local, uint16_t port,
                                                 const UdpSocketOptions& options);

/// How much a receive socket takes before it drops, as the kernel counts; 0: unknown.
size_t receive_buffer_bytes(const UdpSocketOptions& options);

/// Whether the kernel segments what is sent (UDP_SEGMENT).
bool kernel_segments_udp();

}  // namespace urxe
