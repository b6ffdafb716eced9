// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <pthread.h>
#include <sys/types.h>

#include <atomic>
#include <functional>
#include <thread>

namespace conformance {

/// A thread that waits, from when it sleeps on.
class Waiter {
 public:
  /// `wait` is the thread. The test fails if it does not sleep soon.
  explicit Waiter(std::function<int()> wait);
  ~Waiter();
  Waiter(const Waiter&) = delete;
  Waiter& operator=(const Waiter&) = delete;

  /// The test fails if the thread does not sleep soon.
  void expect_sleep();
  void signal(int signal) { pthread_kill(thread_.native_handle(), signal); }
  void cancel();
  /// What `wait` has returned, when it has; -1: it has not.
  int outcome();

 private:
  std::atomic<pid_t> number_{0};
  int outcome_ = -1;
  std::thread thread_;
};

}  // namespace conformance
