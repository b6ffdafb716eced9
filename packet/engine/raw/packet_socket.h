// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>

#include "packet/base/engine_error.h"
#include "packet/base/expected.h"
#include "packet/host/file_descriptor.h"

namespace urxe {

struct PacketSocketOptions {
  uint32_t interface_index = 0;  ///< an Ethernet interface
  uint32_t slot = 0;             ///< what the filter lets in: packets for this slot's queue pairs
  int buffer_bytes = 0;          ///< requested for sending, and for super-packets that come in
  size_t ring_blocks = 0;        ///< of kRingBlockSlots frames that can wait; at least 1
};

// The layout of the receive ring. A slot holds the largest RoCE packet with all headers, and the
// kernel's own header; what is larger is a batch of segments, of which the kernel would copy the
// first part in vain. A block is what the kernel allocates in one piece.
inline constexpr size_t kRingSlotBytes = 4608;
inline constexpr size_t kRingBlockBytes = 65536;
inline constexpr size_t kRingBlockSlots = kRingBlockBytes / kRingSlotBytes;

/// A packet socket (AF_PACKET, SOCK_RAW) with a V2 receive ring, which the caller maps, and virtio
/// headers both ways. It receives, from when this returns, and can send. EPERM without CAP_NET_RAW;
/// ENODEV, ENETDOWN; ENOMEM for the ring; EMFILE and the like.
Expected<FileDescriptor, EngineError> open_packet_socket(const PacketSocketOptions& options);

// Steps of opening a packet socket otherwise. They set errno if they fail.

/// A packet socket with the layout of the above, which receives nothing yet.
FileDescriptor open_silent_packet_socket(int buffer_bytes);
/// A packet socket that only sends by an interface: frames without virtio headers.
FileDescriptor open_sending_packet_socket(uint32_t ifindex, int buffer_bytes);
bool make_packet_ring(int fd, size_t blocks);
/// Undoes that. The ring is not mapped.
void drop_packet_ring(int fd);
/// Begins to receive what the socket's filter lets pass.
bool start_packet_socket(int fd, uint32_t ifindex);
/// Whether the socket receives what this host sends by other sockets, too.
bool show_outgoing_packets(int fd, bool shown);

/// Whether packet sockets of this release of Linux carry the segments of UDP datagrams: before 6.2
/// they drop such a frame (VIRTIO_NET_HDR_GSO_UDP_L4 is unknown), and refuse to send one.
[[nodiscard]] bool packet_sockets_carry_batches(const char* release);

/// Whether the raw engine can be used: this process may open packet sockets, and the kernel's carry
/// batches. The error says why not, and what to do about it.
Expected<void, EngineError> check_packet_sockets();

/// Whether the network interface's frames are Ethernet's, and it is not the loopback interface.
/// Others have nothing for packet sockets. ENODEV: there is no such interface.
Expected<bool, Errno> is_ethernet(uint32_t ifindex);

}  // namespace urxe
