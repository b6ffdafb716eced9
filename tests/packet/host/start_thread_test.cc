// SPDX-License-Identifier: BSD-2-Clause
#include "packet/host/start_thread.h"

#include <gtest/gtest.h>
#include <malloc.h>
#include <signal.h>

#include <array>
#include <cstdio>
#include <cstdlib>
#include <future>
#include <memory>
#include <string>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kHasAllocatorOfLibc = false;
#else
constexpr bool kHasAllocatorOfLibc = true;
#endif

namespace urxe::test {
namespace {

/// The heaps that libc's allocator has: one for each thread, while they are few.
long count_heaps() {
  char* text = nullptr;
  size_t size = 0;
  FILE* file = open_memstream(&text, &size);
  malloc_info(0, file);
  (void)fclose(file);
  const std::unique_ptr<char, decltype(&std::free)> owner(text, &std::free);
  const std::string report(text, size);
  long heaps = 0;
  for (size_t at = report.find("<heap "); at != std::string::npos;
       at = report.find("<heap ", at + 1)) {
    ++heaps;
  }
  return heaps;
}

/// A thread that does nothing but wait for its end.
class Idle {
 public:
  Idle() { EXPECT_EQ(start_thread(&thread_, main, this), 0); }
  ~Idle() {
    end_.set_value();
    pthread_join(thread_, nullptr);
  }
  Idle(const Idle&) = delete;
  Idle& operator=(const Idle&) = delete;

 private:
  static void* main(void* self) {
    static_cast<Idle*>(self)->ended_.wait();
    return nullptr;
  }

  std::promise<void> end_;
  std::future<void> ended_ = end_.get_future();
  pthread_t thread_{};
};

TEST(StartThread, HasMemoryOfItsOwnAtOnce) {
  if (!kHasAllocatorOfLibc) GTEST_SKIP() << "the sanitizer has an allocator of its own";
  const std::array<Idle, 3> threads;
  EXPECT_GE(count_heaps(), 4) << "a thread has still to make its heap";
}

TEST(StartThread, RunsWithTheArgument) {
  std::promise<pthread_t> ran;
  pthread_t thread{};
  const auto main = [](void* argument) -> void* {
    static_cast<std::promise<pthread_t>*>(argument)->set_value(pthread_self());
    return argument;
  };
  ASSERT_EQ(start_thread(&thread, main, &ran), 0);
  EXPECT_TRUE(pthread_equal(ran.get_future().get(), thread));
  void* result = nullptr;
  pthread_join(thread, &result);
  EXPECT_EQ(result, &ran);
}

TEST(StartThread, SignalsAreNotDeliveredToIt) {
  sigset_t blocked;
  sigemptyset(&blocked);
  pthread_t thread{};
  const auto main = [](void* argument) -> void* {
    pthread_sigmask(SIG_SETMASK, nullptr, static_cast<sigset_t*>(argument));
    return nullptr;
  };
  ASSERT_EQ(start_thread(&thread, main, &blocked), 0);
  pthread_join(thread, nullptr);
  EXPECT_TRUE(sigismember(&blocked, SIGTERM));
  sigset_t own;
  pthread_sigmask(SIG_SETMASK, nullptr, &own);
  EXPECT_FALSE(sigismember(&own, SIGTERM));
}

}  // namespace
}  // namespace urxe::test
