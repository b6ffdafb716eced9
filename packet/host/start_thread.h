// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>
#include <signal.h>

namespace urxe {

/// Starts a thread that no signal of the application's is delivered to. Returns 0 or an
/// errno, as pthread_create().
inline int start_thread(pthread_t* thread, void* (*main)(void*), void* argument) {
  sigset_t all;
  sigset_t old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  int result = pthread_create(thread, nullptr, main, argument);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return result;
}

}  // namespace urxe
