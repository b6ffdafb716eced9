// SPDX-License-Identifier: BSD-2-Clause
#include "tests/conformance/support/waiter.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>
#include <utility>

#include "tests/conformance/support/completion.h"

namespace conformance {
namespace {

/// Whether the thread of this process sleeps, in several looks.
bool sleeps(pid_t thread) {
  for (int look = 0; look < 5; ++look) {
    std::ifstream file("/proc/self/task/" + std::to_string(thread) + "/stat");
    std::string stat;
    std::getline(file, stat);
    const size_t name_end = stat.rfind(')');
    if (name_end == std::string::npos || stat.compare(name_end, 3, ") S") != 0) return false;
    usleep(1000);
  }
  return true;
}

}  // namespace

Waiter::Waiter(std::function<int()> wait)
    : thread_([this, wait = std::move(wait)] {
        number_ = gettid();
        outcome_ = wait();
      }) {
  expect_sleep();
}

Waiter::~Waiter() {
  if (thread_.joinable()) thread_.join();
}

void Waiter::expect_sleep() {
  EXPECT_TRUE(eventually([this] { return number_ != 0 && sleeps(number_); }));
}

void Waiter::cancel() {
  pthread_cancel(thread_.native_handle());
  thread_.join();
}

int Waiter::outcome() {
  thread_.join();
  return outcome_;
}

}  // namespace conformance
