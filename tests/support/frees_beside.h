// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <functional>
#include <future>
#include <memory>
#include <thread>

#include "tests/support/failing_allocations.h"

namespace urxe::test {

/// Tells whether a thread frees memory while it holds something that another thread needs.
class FreesBeside {
 public:
  /// Runs `action`. Whenever it frees memory, another thread first runs `other`. Returns the number
  /// of frees; -1: `other` took more than ten seconds, so it waits for what `action` holds. Call it
  /// only if can_fail_allocations().
  static int count(const std::function<void()>& action, const std::function<void()>& other) {
    FreesBeside self(other);
    current_ = &self;
    watch_frees(before_free);
    action();
    watch_frees(nullptr);
    current_ = nullptr;
    if (self.late_) self.late_->wait();
    return self.late_ ? -1 : self.frees_;
  }

 private:
  explicit FreesBeside(const std::function<void()>& other) : other_(other) {}

  static void before_free() {
    watch_frees(nullptr);
    if (current_->other_gets_done()) watch_frees(before_free);
  }
  bool other_gets_done() {
    ++frees_;
    auto done = std::async(std::launch::async, other_);
    if (done.wait_for(std::chrono::seconds(10)) == std::future_status::ready) return true;
    late_ = std::make_unique<std::future<void>>(std::move(done));
    return false;
  }

  static inline thread_local FreesBeside* current_ = nullptr;
  const std::function<void()>& other_;
  int frees_ = 0;
  std::unique_ptr<std::future<void>> late_;
};

}  // namespace urxe::test
