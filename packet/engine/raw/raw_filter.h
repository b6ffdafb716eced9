// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

#include "packet/base/expected.h"

namespace urxe {

// Two classic BPF programs that divide what arrives at UDP port 4791: each packet (or batch of
// segments) is taken by the packet socket or by the UDP socket of a process, never by both, and
// never by none. The packet socket takes what is for a queue pair of this process, came in by the
// interface, and is the ordinary kind of packet: not fragmented, for IPv4 with DF set as RoCE
// demands, for IPv6 without extension headers. The UDP socket takes the rest: what comes over the
// loopback interface or another one, QP1, multicast, and packets for other processes, which it
// forwards.
//
// One hole: fragments of an IPv6 packet, put together, look to the UDP socket like an ordinary
// packet, and are lost. No RoCE sender fragments.

/// For a packet socket that is bound to an Ethernet interface. To be attached before it receives.
Expected<void, Errno> attach_packet_filter(int fd, uint32_t slot);

/// For a UDP socket on port 4791 while a packet socket receives by the interface `ifindex`.
Expected<void, Errno> attach_udp_filter(int fd, uint32_t slot, uint32_t ifindex);
/// Undoes attach_udp_filter(). Does nothing if there is no filter.
void detach_udp_filter(int fd);

}  // namespace urxe
