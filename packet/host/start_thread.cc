// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/start_thread.h"

#include <semaphore.h>
#include <signal.h>
#include <time.h>

#include <atomic>
#include <cerrno>
#include <memory>
#include <new>

#include "packet/host/throwing.h"
#include "packet/host/uncancelled.h"

namespace urxe {
namespace {

/// What the two threads share. Whichever leaves last deletes it.
struct Start {
  Start(void* (*its_main)(void*), void* its_argument) : main(its_main), argument(its_argument) {
    sem_init(&has_heap, 0, 0);
  }
  ~Start() { sem_destroy(&has_heap); }
  Start(const Start&) = delete;
  Start& operator=(const Start&) = delete;

  void leave() {
    if (users.fetch_sub(1) == 1) delete this;
  }

  void* (*const main)(void*);
  void* const argument;
  sem_t has_heap;
  std::atomic<int> users{2};
};

void* begin(void* shared) {
  auto* const start = static_cast<Start*>(shared);
  (void)can_throw();  // makes the heap, too; before memory is short
  auto* const main = start->main;
  void* const argument = start->argument;
  sem_post(&start->has_heap);
  start->leave();
  return main(argument);
}

void wait_for_heap(Start& start) {
  const Uncancelled uncancelled;
  timespec until{};
  clock_gettime(CLOCK_REALTIME, &until);
  until.tv_sec += 1;
  while (sem_timedwait(&start.has_heap, &until) != 0 && errno == EINTR) {
  }
}

int create(pthread_t* thread, Start* start) {
  sigset_t all;
  sigset_t old;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &old);
  const int result = pthread_create(thread, nullptr, begin, start);
  pthread_sigmask(SIG_SETMASK, &old, nullptr);
  return result;
}

}  // namespace

int start_thread(pthread_t* thread, void* (*main)(void*), void* argument) {
  std::unique_ptr<Start> start(new (std::nothrow) Start(main, argument));
  if (start == nullptr) return ENOMEM;
  if (const int wrong = create(thread, start.get()); wrong != 0) return wrong;
  const int saved_errno = errno;
  Start* const shared = start.release();
  wait_for_heap(*shared);
  shared->leave();
  errno = saved_errno;
  return 0;
}

}  // namespace urxe
