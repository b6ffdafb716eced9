// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

namespace urxe {

/// Starts a thread that no signal of the application's is delivered to. Returns 0 or an errno, as
/// pthread_create(); ENOMEM also if there is no memory for what the two threads share.
///
/// By the return the thread has made its heap, as a rule: the allocator maps memory for it, and
/// unmaps some. UCX and libfabric write over the code of mmap(), munmap() and others while they
/// open a device, and a thread that is in one of them then runs into half an instruction. A thread
/// of the application's own would know; ours must be out of there when a call of verbs returns. The
/// wait ends after a second: the caller may hold a lock that an allocator of the application's
/// wants. No cancellation point.
int start_thread(pthread_t* thread, void* (*main)(void*), void* argument);

}  // namespace urxe
