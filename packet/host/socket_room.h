// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace urxe {

/// Asks for so many bytes for what waits at a socket to be read. The kernel grants up to twice as
/// many, but no more than twice net.core.rmem_max, unless the process has CAP_NET_ADMIN in the
/// first user namespace.
void ask_receive_room(int fd, int bytes);

/// How many bytes, as the kernel counts them, it has granted for what waits to be read; 0 if
/// unknown.
size_t granted_receive_room(int fd);

/// ask_receive_room() for what waits to be sent, and net.core.wmem_max.
void ask_send_room(int fd, int bytes);

}  // namespace urxe
