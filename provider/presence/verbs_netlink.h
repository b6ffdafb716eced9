// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// RDMA netlink for libibverbs and librdmacm. Their requests for devices are refused, so that they
/// read sysfs, where urxe's devices are. That for the system's properties is answered:
/// ibv_fork_init() asks whether children of fork() can have registered memory. Otherwise libibverbs
/// would take it away from them, by whole pages, which also hold what the child's handlers of
/// fork() need.

#include <stdbool.h>
#include <sys/socket.h>

/// A socket as their library would open, of whose answers only ours arrive. -1 with errno.
int urxe_open_verbs_netlink(int type);
/// Asks the kernel whether `fd` is such a socket. Keeps errno.
bool urxe_is_verbs_netlink(int fd);
/// Answers the requests of the message in place of sendmsg().
ssize_t urxe_answer_verbs(int fd, const struct msghdr* message);
