// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "provider/netlink/message.h"

namespace urxe::netlink {

// A program's socket for RDMA netlink: either the kernel's own, or one of NETLINK_USERSOCK that
// stands in for it (provider/presence). The program receives there like from the kernel.

/// A system call's socket(), which no object of urxe intercepts. -1 and errno.
int open_socket(int protocol);

/// Whether the descriptor is the kernel's own RDMA netlink.
bool is_kernels(int fd);
/// Puts a stand-in in the place of the kernel's socket: under the same descriptor, with the same
/// port and options.
Expected<void, Errno> replace_by_stand_in(int fd);

/// The port of a stand-in; it gets one if it has none.
Expected<uint32_t, Errno> port_of(int fd);
/// Whether the option of SOL_NETLINK is set.
bool has_option(int fd, int option);

/// Sends the messages to the stand-in. What its receive buffer has no room for follows when there
/// is, by a thread. From then on nobody else can send to it.
Expected<void, Errno> deliver(int fd, uint32_t port, std::vector<Bytes> messages);

}  // namespace urxe::netlink
