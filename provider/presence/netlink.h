// SPDX-License-Identifier: BSD-2-Clause
#pragma once

/// RDMA netlink for programs other than the verbs' own libraries. The program gets a netlink socket
/// of the protocol for user programs, which it can bind, ask for its address and receive from
/// without us. What it sends there goes to the provider, which answers by another such socket.

#include <stdbool.h>
#include <sys/socket.h>

#include "provider/presence/presence_abi.h"

void urxe_set_netlink_hook(urxe_netlink_hook hook);
void urxe_set_failed_send_hook(urxe_failed_send_hook hook);

/// A socket that programs can bind, ask for its address, and receive from, all without us. `mark`,
/// 1 to 6, says what it stands in for. -1 with errno.
int urxe_open_stand_in(int type, int mark);
/// Asks the kernel for the mark of `fd`; 0: it is no such socket, as far as can be told. Keeps
/// errno.
int urxe_stand_in_mark(int fd);
/// Whether `fd` is one for programs other than the verbs' own libraries. Keeps errno.
bool urxe_is_netlink(int fd);

/// sendmsg() on a descriptor of urxe_nodes, of whatever kind it is.
ssize_t urxe_send_netlink(int fd, const struct msghdr* message, int flags);
