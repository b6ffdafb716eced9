// SPDX-License-Identifier: BSD-2-Clause
#include "provider/runtime/locks/device_lock.h"

#include <gtest/gtest.h>

#include <thread>

namespace urxe {
namespace {

TEST(DeviceLock, OneHolderAtATime) {
  DeviceLock lock;
  ASSERT_TRUE(lock.try_lock());
  std::thread([&] { EXPECT_FALSE(lock.try_lock()); }).join();
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());
  lock.unlock();
}

// A thread that tries without pause, as one that polls does, must let a waiting one in.
TEST(DeviceLock, PollerDoesNotStarveAWaiter) {
  DeviceLock lock;
  std::atomic<bool> done{false};
  std::thread poller([&] {
    while (!done.load()) {
      if (lock.try_lock()) lock.unlock();
    }
  });
  for (int i = 0; i < 1000; ++i) {
    lock.lock();
    EXPECT_FALSE(lock.try_lock());
    lock.unlock();
  }
  done.store(true);
  poller.join();
}

TEST(DeviceLock, KnowsItsHolder) {
  DeviceLock lock;
  EXPECT_FALSE(lock.is_mine());
  lock.lock();
  EXPECT_TRUE(lock.is_mine());
  std::thread([&] { EXPECT_FALSE(lock.is_mine()); }).join();
  lock.unlock();
  EXPECT_FALSE(lock.is_mine());
  ASSERT_TRUE(lock.try_lock());
  EXPECT_TRUE(lock.is_mine());
  lock.unlock();
}

TEST(DeviceLock, WaitsForABoundedTime) {
  DeviceLock lock;
  lock.lock();
  Patience in_vain;
  std::thread([&] { EXPECT_FALSE(lock.lock_within(in_vain)); }).join();
  lock.unlock();
  Patience patience;
  EXPECT_TRUE(lock.lock_within(patience));
  lock.unlock();
  EXPECT_TRUE(lock.try_lock());  // no waiter was left behind
  lock.unlock();
}

}  // namespace
}  // namespace urxe
