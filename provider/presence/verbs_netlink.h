// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// RDMA netlink for libibverbs and librdmacm. Their requests for devices are refused, so that they
/// read sysfs, where urxe's devices are. That for the system's properties is answered:
/// ibv_fork_init() asks whether children of fork() can have registered memory. Otherwise libibverbs
/// would take it away from them, by whole pages, which also hold what the child's handlers of
/// fork() need.

#include <sys/socket.h>

/// The mark of their sockets (urxe_open_stand_in()).
enum { URXE_FOR_VERBS = 6 };

/// Answers the requests of the message in place of sendmsg().
ssize_t urxe_answer_verbs(int fd, const struct msghdr* message);
