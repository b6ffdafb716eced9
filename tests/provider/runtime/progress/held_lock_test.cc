// SPDX-License-Identifier: BSD-2-Clause
// Threads that poll give way to others: one that holds the device's lock, perhaps without a
// processor, or a crowd.
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <chrono>
#include <memory>
#include <thread>

#include "provider/runtime/device/runtime_device.h"
#include "provider/runtime/progress/progress.h"
#include "tests/packet/engine/scarce_engine.h"
#include "tests/provider/runtime/progress/loopback_device.h"
#include "tests/transport/bench.h"

namespace {
thread_local int yields = 0;
thread_local std::chrono::milliseconds yield_time{0};
}  // namespace

/// The C library's, counted, and as long as on a host with that many others.
extern "C" int sched_yield() noexcept {
  ++yields;
  if (yield_time.count() != 0) std::this_thread::sleep_for(yield_time);
  return static_cast<int>(syscall(SYS_sched_yield));
}

namespace urxe::test::held_lock_test {
namespace {

/// How often the calling thread has slept.
long sleeps() {
  rusage usage{};
  getrusage(RUSAGE_THREAD, &usage);
  return usage.ru_nvcsw;
}

struct GivenWay {
  int yields = 0;
  long sleeps = 0;
};

class HeldLock : public testing::Test {
 protected:
  void SetUp() override {
    Progress::Guard guard(progress_);
    ASSERT_TRUE(progress_.start(std::make_unique<ScarceEngine>()));
  }
  /// How often a thread that polls so often gives way. The lock is held meanwhile.
  GivenWay ways_of(int polls) {
    const Progress::Guard guard(progress_);
    GivenWay counted;
    std::thread([&] {
      const int yields_before = yields;
      const long sleeps_before = sleeps();
      for (int i = 0; i < polls; ++i) {
        const CompletionQueue& cq = *bench_.recv_cq;
        EXPECT_EQ(progress_.poll(cq, [] { return 0; }), 0);
      }
      counted = {yields - yields_before, sleeps() - sleeps_before};
    }).join();
    return counted;
  }

  RuntimeDevice owner_{loopback_device("held_lock_test")};
  Bench bench_;
  Progress progress_{bench_.device, owner_};
};

TEST_F(HeldLock, PollersGiveWayToTheHolder) {
  const GivenWay ways = ways_of(5000);
  EXPECT_GE(ways.yields + ways.sleeps, 3);  // it sleeps if the yields show that the host is crowded
}

// The holder mostly has a processor, and is done in a microsecond.
TEST_F(HeldLock, NotAtOnce) {
  EXPECT_EQ(ways_of(500).yields, 0);
}

// The defect: fork() takes several locks. One of its locks was held by a thread that freed memory,
// which waited for the device's, that fork() held already: for two seconds, while it had patience.
TEST_F(HeldLock, WhoFreesMemoryDoesNotWaitForAFork) {
  progress_.before_fork();
  std::thread([&] {
    const int yields_before = yields;
    progress_.wait_for_holder();
    EXPECT_EQ(yields, yields_before);
  }).join();
  progress_.after_fork_in_parent();
}

// Expect: what a poller finds of a crowd, the transport is told with a later poll.
TEST_F(HeldLock, TheTransportIsToldOfACrowd) {
  const CompletionQueue& cq = *bench_.recv_cq;
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  yield_time = std::chrono::milliseconds(60);
  const auto is_told = [&] {
    const Progress::Guard guard(progress_);
    return bench_.device.host_is_crowded();
  };
  while (!is_told() && std::chrono::steady_clock::now() < end) {
    EXPECT_EQ(progress_.poll(cq, [] { return 0; }), 0);
  }
  yield_time = std::chrono::milliseconds(0);
  EXPECT_TRUE(is_told());
}

}  // namespace
}  // namespace urxe::test::held_lock_test
