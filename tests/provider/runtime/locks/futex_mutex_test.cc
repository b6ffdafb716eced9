// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/locks/futex_mutex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <mutex>
#include <thread>
#include <vector>

namespace urxe {
namespace {

TEST(FutexMutex, IsHeldByOneThread) {
  FutexMutex mutex;
  EXPECT_TRUE(mutex.try_lock());
  EXPECT_FALSE(mutex.try_lock());
  mutex.unlock();
  EXPECT_TRUE(mutex.try_lock());
  mutex.unlock();
}

// Without the wake-up, or the lock, this does not end, or counts wrong.
TEST(FutexMutex, KeepsThreadsApartAndWakesThem) {
  constexpr int kThreads = 8;
  constexpr int kRounds = 20000;
  FutexMutex mutex;
  int count = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      for (int round = 0; round < kRounds; ++round) {
        std::lock_guard guard(mutex);
        ++count;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(count, kThreads * kRounds);
}

TEST(FutexMutex, AWaitingThreadIsWoken) {
  FutexMutex mutex;
  std::atomic<bool> waits{false};
  std::atomic<bool> locked{false};
  mutex.lock();
  std::thread waiter([&] {
    waits.store(true);
    errno = EDOM;
    mutex.lock();
    EXPECT_EQ(errno, EDOM);
    locked.store(true);
    mutex.unlock();
  });
  while (!waits.load()) std::this_thread::yield();
  EXPECT_FALSE(locked.load());
  mutex.unlock();
  waiter.join();
  EXPECT_TRUE(locked.load());
}

}  // namespace
}  // namespace urxe
