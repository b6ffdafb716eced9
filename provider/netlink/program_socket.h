// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "packet/base/expected.h"
#include "provider/netlink/message.h"

namespace urxe::netlink {

// A program's socket for RDMA netlink: one of NETLINK_USERSOCK that stands in for the kernel's
// (provider/presence). The program receives there like from the kernel.

/// A system call's socket(), which no object of urxe intercepts. -1 and errno.
int open_socket(int protocol);

/// The port of the socket; it gets one if it has none.
Expected<uint32_t, Errno> port_of(int fd);
/// Whether the option of SOL_NETLINK is set.
bool has_option(int fd, int option);

/// Sends the messages to the socket. What its receive buffer has no room for follows when there
/// is, by a thread. From then on nobody else can send to it.
Expected<void, Errno> deliver(int fd, uint32_t port, std::vector<Bytes> messages);

}  // namespace urxe::netlink
