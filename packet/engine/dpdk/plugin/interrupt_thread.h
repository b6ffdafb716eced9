// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <sys/socket.h>
#include <sys/types.h>

namespace urxe {

// DPDK's interrupt thread takes what comes on the control sockets of drivers. That of memif takes a
// connection down there, and unmaps its memory, without regard to threads that read and write the
// memory at that moment.

/// Calls `function(argument)` in that thread and returns when it is done: what changes a port does
/// not meet what the thread itself does to it.
void run_in_interrupt_thread(void (*function)(void*), void* argument);

/// To be called by every thread before it unmaps memory. In DPDK's interrupt thread it waits until
/// no MemoryUse is left that began before the connection was marked as closed.
void wait_before_unmap();

/// To be called after each sendmsg() that has failed; returns what sendmsg() is to return. A memif
/// server greets who has connected to it. If that fails, because the client has hung up already,
/// DPDK closes the connection but goes on watching its descriptor, and ends the process for it
/// ("PANIC in eal_intr_thread_main()"). So the greeting counts as sent. The end of the connection,
/// which is read next, has it closed as it should be.
ssize_t after_failed_send(int fd, const msghdr* message);

/// Whether the kernel has what wait_before_unmap() needs. Once, before the first MemoryUse.
bool prepare_memory_use();

}  // namespace urxe
