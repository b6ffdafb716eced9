// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>

namespace urxe {

/// Starts a thread that no signal of the application's is delivered to. Returns 0 or an errno, as
/// pthread_create(); ENOMEM also if there is no memory for what the two threads share.
///
/// By the return the thread has made its heap, as a rule: the allocator maps memory for it, and
/// unmaps some. UCX and libfabric write over the code of mmap(), munmap() and others while they
/// open a device, and a thread that is in one of them then runs into half an instruction. The
/// application can keep its own threads out of there, but does not know of ours. The wait ends
/// after a second, because the caller may hold a lock that the application's allocator wants. No
/// cancellation point.
int start_thread(pthread_t* thread, void* (*main)(void*), void* argument);

}  // namespace urxe
