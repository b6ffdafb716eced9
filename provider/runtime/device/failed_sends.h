// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

namespace urxe {

/// From now on the hook is called after each sendmsg() of the process that has failed, as
/// urxe_failed_send_hook (provider/presence/presence_abi.h). Does nothing in a process that was not
/// started by `urxe run`.
void watch_failed_sends(ssize_t (*hook)(int fd, const msghdr* message));

}  // namespace urxe
